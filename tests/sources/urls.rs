use std::path::Path;

use holdfast::source::url::{BadUrl, RepositoryUrl, mask};

fn parse(text: &str) -> Result<RepositoryUrl, BadUrl> {
    RepositoryUrl::parse(text, Path::new("/base/conf"))
}

#[test]
fn spellings_of_one_repository_have_one_normal_form() {
    let same = [
        vec![
            "https://Git.Example/team/shop.git",
            "https://git.example:443/team/shop",
            "HTTPS://git.example/team/shop/",
        ],
        vec![
            "git@git.example:team/shop.git",
            "ssh://git@git.example/team/shop",
            "ssh://git@git.example:22/team/shop.git/",
        ],
        vec!["../shop", "/base/shop", "/base/shop/", "/base/shop/.git", "file:///base/shop", "/base/x/../shop/."],
    ];
    for spellings in same {
        let forms: Vec<_> = spellings.iter().map(|s| parse(s).unwrap().normalised().to_owned()).collect();
        assert!(forms.windows(2).all(|w| w[0] == w[1]), "{forms:?}");
    }
    assert_ne!(
        parse("https://git.example/a").unwrap().normalised(),
        parse("https://git.example/b").unwrap().normalised()
    );
    assert_ne!(
        parse("https://git.example:8443/a").unwrap().normalised(),
        parse("https://git.example/a").unwrap().normalised()
    );
}

#[test]
fn credentials_in_a_url_are_refused_and_never_shown() {
    let refused = [
        "https://user:S3CRET@git.example/x.git",
        "https://S3CRET@git.example/x.git",
        "https://@git.example/x.git?S3CRET",
        "ssh://git:S3CRET@git.example/x.git",
        "git:S3CRET@git.example:x.git",
        "https://git.example/x.git?access_token=S3CRET",
        "https://git.example/x.git?private_token=S3CRET&a=b",
        "https://git.example/x.git?a=b&X-Amz-Signature=S3CRET",
        "https://git.example/x.git?key=S3CRET",
        "https://git.example/x.git?sig=S3CRET",
        "https://git.example/x.git?password=S3CRET",
        "https://git.example/x.git#token=S3CRET",
        "http://user:S3CRET@git.example/x.git",
        "ftp://user:S3CRET@git.example/x.git",
        "ssh://git@git.example/x?token=S3CRET",
        "file://user:S3CRET@localhost/x",
    ];
    for text in refused {
        let error = parse(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("S3CRET"), "{text}: {error:?}");
    }
}

#[test]
fn a_query_value_that_is_allowed_is_shown_masked() {
    let url = parse("https://git.example/x.git?version=12345").unwrap();
    assert_eq!(url.to_string(), "https://git.example/x.git?version=***");
    assert!(!format!("{url:?}").contains("12345"));
}

#[test]
fn only_transports_that_prove_the_server_are_read() {
    for text in
        ["http://git.example/x", "git://git.example/x", "ext::sh -c id", "ftp://x/y", "", "--upload-pack=id", "a\nb"]
    {
        assert!(parse(text).is_err(), "{text}");
    }
    for text in ["http://127.0.0.1:8080/x", "ssh://git@host:2222/x", "host:x", "git@[::1]:x", "./a:b/c"] {
        assert!(parse(text).is_ok(), "{text}");
    }
}

#[test]
fn text_of_others_is_masked() {
    for (text, masked) in [
        ("failed for 'https://u:p@h/x?token=abc' today", "failed for 'https://***@h/x?token=***' today"),
        ("https://ghp_abc@h/x", "https://***@h/x"),
        ("ssh://git@h/x", "ssh://git@h/x"),
        ("git@h:x", "git@h:x"),
        ("user:pw@h:x", "***@h:x"),
        ("nothing here", "nothing here"),
        ("https://h/x?ghp_abc", "https://h/x?***"),
    ] {
        assert_eq!(mask(text), masked);
    }
}
