//! Everything that is printed: data to stdout, everything else to stderr, outside text escaped.

use std::io::Write;

use anstyle::{AnsiColor, Style};

use super::args::{Color, Format, Global, LogFormat};
use super::env::Env;
use super::exit::Failure;
use crate::base::text::{escape, escape_lines};

/// Where output goes and how.
pub struct Output {
    format: Option<Format>,
    quiet: bool,
    verbose: u8,
    colour_out: bool,
    colour_err: bool,
    secrets: bool,
    log: LogFormat,
    width: usize,
}

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

impl Output {
    /// By the options and the environment.
    pub fn new(global: &Global, env: &Env) -> Self {
        let colour = |terminal: bool| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !env.no_color,
        };
        Self {
            format: global.output,
            quiet: global.quiet,
            verbose: global.verbose,
            colour_out: colour(env.stdout_is_terminal),
            colour_err: colour(env.stderr_is_terminal),
            secrets: global.show_secrets && env.stdout_is_terminal,
            log: global.log_format,
            width: 0,
        }
    }

    /// The format asked for, or the command's own.
    pub fn format(&self, default: Format) -> Format {
        self.format.unwrap_or(default)
    }

    /// Whether data may be coloured.
    pub fn colour(&self) -> bool {
        self.colour_out
    }

    /// Whether sensitive values may be shown: asked for, and stdout is a terminal.
    pub fn shows_secrets(&self) -> bool {
        self.secrets
    }

    /// Whether warnings and notes are left out.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// The width for tables; 0 is without a bound.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Prints data, ended by a line end. A reader that went away is no fault.
    pub fn data(&self, text: &str) -> Result<(), Failure> {
        let mut out = anstream::AutoStream::new(std::io::stdout().lock(), choice(self.colour_out));
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        match out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes())).and_then(|()| out.flush()) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::refused(format!("the output can't be written: {e}")))
            }
            _ => Ok(()),
        }
    }

    /// Says something beside the data; not with `-q`.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.line("note", None, text);
        }
    }

    /// Says more, with `-v`.
    pub fn detail(&self, text: &str) {
        if self.verbose > 0 {
            self.line("detail", None, text);
        }
    }

    /// Warns; not with `-q`.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            self.line("warning", Some(YELLOW), text);
        }
    }

    /// Says why a command can't go on.
    pub fn failure(&self, failure: &Failure) {
        self.line("error", Some(RED), &failure.to_string());
        if let Some(hint) = failure.hint_text() {
            self.line("hint", None, hint);
        }
    }

    /// Text for people on stderr, as it is.
    pub fn report(&self, text: &str) {
        let mut err = anstream::AutoStream::new(std::io::stderr().lock(), choice(self.colour_err));
        // Where stderr is gone there is nobody to tell.
        let _ = err.write_all(text.as_bytes());
    }

    /// Whether reports may be coloured.
    pub fn colour_report(&self) -> bool {
        self.colour_err
    }

    fn line(&self, level: &str, style: Option<Style>, text: &str) {
        if self.log == LogFormat::Json {
            let line = serde_json::json!({ "level": level, "text": escape(text) });
            self.report(&format!("{line}\n"));
            return;
        }
        let text = escape_lines(text);
        match (level, style) {
            ("note" | "detail", _) => self.report(&format!("{text}\n")),
            (_, Some(style)) => self.report(&format!("{style}{level}{style:#}: {text}\n")),
            (_, None) => self.report(&format!("{level}: {text}\n")),
        }
    }
}

fn choice(colour: bool) -> anstream::ColorChoice {
    if colour { anstream::ColorChoice::Always } else { anstream::ColorChoice::Never }
}
