//! Rules about repositories, commits and files.

use super::{RuleDoc, rule};

pub(super) const RULES: &[RuleDoc] = &[
    rule(
        "commit-gone",
        "The commit must still be in the repository or in Holdfast's mirror.",
        "A commit that was rewritten away and cleaned up can't be read any more. Nothing is deleted because of it: an \
         unreadable commit is an error, never an empty one. Plan the commit that is there now.",
        "git push --force replaced the commit that a saved plan names, and the server has forgotten it.",
    ),
    rule(
        "commit-unreachable",
        "A commit must be reachable from a branch or tag of the repository.",
        "Servers also hand out commits of forks and closed pull requests, which nobody of the repository has accepted. \
         A Source with `commit:ID` takes only what a branch or tag leads to.",
        "ref: commit:<ID of a commit that only a fork has>",
    ),
    rule(
        "encoding",
        "Files are UTF-8.",
        "Manifests and ignore files are read as UTF-8, with or without a byte order mark; bytes in another encoding would \
         be guesses. Save the file as UTF-8.",
        "a manifest saved as Windows-1252, with a lone byte 0xE9 for é",
    ),
    rule(
        "ignore-pattern",
        "Patterns of files to leave out are gitignore patterns.",
        "`ignore` and .holdfastignore take the patterns of a gitignore file. A line that is none would leave out nothing, \
         or too much, so it is refused.",
        "ignore: [\"docs/[a-\"]",
    ),
    rule(
        "lfs-pointer",
        "A file under the Source's path is the manifest itself, not a Git LFS pointer.",
        "Git keeps a pointer where Git LFS keeps the content elsewhere. Read as it stands the file would declare nothing, \
         and what it declared before would be pruned. Take the file out of Git LFS.",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a...",
    ),
    rule(
        "link-dangling",
        "A symbolic link leads to a file of the commit.",
        "A link to nothing would read as no file, and what it stood for would be pruned. Repair or remove the link.",
        "web.yaml -> base/web.yaml, where the commit has no base/web.yaml",
    ),
    rule(
        "link-folder",
        "A symbolic link leads to a file, not to a folder.",
        "Files behind a linked folder would count twice or in a circle. Link the files, or move the folder.",
        "prod -> ../base",
    ),
    rule(
        "link-loop",
        "A symbolic link doesn't lead back to itself.",
        "Links are followed inside the commit, a bounded number of times. Break the circle.",
        "a.yaml -> b.yaml, b.yaml -> a.yaml",
    ),
    rule(
        "link-outside",
        "A symbolic link stays inside the Source's path.",
        "A link that leaves the path would bring in files that nobody reviews as part of this Source, or files of the \
         machine that plans. Copy what is needed under the path.",
        "deploy/web.yaml -> ../../secrets/web.yaml",
    ),
    rule(
        "not-counted",
        "A file that looks like a manifest but has another ending is named in a warning.",
        "Only .yaml, .yml and .json count. A file that was renamed to web.yaml.bak is no manifest any more, and its object \
         is planned to be deleted: the warning says why.",
        "deployment.yaml.BAK",
    ),
    rule(
        "repository",
        "The repository can be read, and is whole.",
        "It couldn't be fetched, took longer or sent more than is allowed, is shallow, or its objects don't have the \
         hashes that they should. Nothing is planned from what could not be read.",
        "a clone made with --depth 1 as the `repository` of a Source",
    ),
    rule(
        "repository-url",
        "A repository's URL holds no credential.",
        "User names with passwords, and query parameters that look like tokens, would end up in plans and logs. Use git's \
         credential helpers, an ssh agent, or a file that the configuration names.",
        "repository: https://user:token@git.example/shop.git",
    ),
    rule(
        "source-binding",
        "A Source's name stays with its repository, path and history.",
        "At its first apply a Source is bound to where it comes from. Another repository under the same name would take \
         over, and prune, what it never brought. If it really moved: --allow source/NAME.",
        "two configurations that both call their Source `shop`",
    ),
    rule(
        "source-moved",
        "The commit of a plan is still on its Source's ref.",
        "Between plan and apply the branch was rewritten, or the commit was never merged. Plan again; or, if exactly that \
         commit is meant: --allow-unmerged.",
        "git push --force after the plan was reviewed",
    ),
    rule(
        "source-name-taken",
        "A Source gets a name that no other Source of the target has.",
        "`source rename OLD NEW` moves a name. Where NEW is already a Source with objects of its own, the two would be \
         mixed up: remove that one first, or choose another name.",
        "holdfast source rename web web-v2, and web-v2 was applied before",
    ),
    rule(
        "source-unreadable",
        "Every Source of a plan can be read.",
        "A repository, commit or file could not be read. What can't be read is never taken for empty: no plan is made.",
        "the git server answers nothing before the deadline",
    ),
    rule(
        "submodule",
        "There is no submodule under the Source's path.",
        "A submodule's files are in another repository and not in this commit. Read as empty they would be pruned. Commit \
         the files, or make the other repository a Source of its own.",
        "deploy/vendor is a submodule",
    ),
    rule(
        "unknown-source",
        "A Source that is renamed, removed or rebuilt was applied to the target.",
        "The target keeps each Source under its name since its first apply. One of this name was never applied here, or \
         it was renamed or removed since.",
        "holdfast source rename wbe web-v2",
    ),
    rule(
        "uncommitted",
        "Changes of a local repository that are not committed are named in a warning.",
        "A plan is made of a commit. What is only in the work tree is not in it.",
        "deploy/web.yaml was edited and not committed",
    ),
];
