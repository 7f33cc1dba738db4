//! What is printed: data to stdout, everything else to stderr. A closed pipe ends the output and is no fault.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::args::{Color, Format, Global, LogFormat};
use super::env::Env;
use super::exit::{Exit, Failure, Stop};
use super::report;
use crate::base::text::{escape, escape_json, escape_lines};
use crate::base::yaml;
use crate::reconcile::{Event, Level};

/// How this command prints.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    format: Option<Format>,
    quiet: bool,
    verbose: u8,
    json_log: bool,
    color_out: bool,
    color_err: bool,
    secrets: Option<bool>,
}

impl Output {
    /// By the options and where the output goes.
    pub(crate) fn new(global: &Global, env: &Env) -> Self {
        let color = |terminal: bool| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !env.no_color,
        };
        Self {
            format: global.output,
            quiet: global.quiet,
            verbose: global.verbose,
            json_log: global.log_format == LogFormat::Json,
            color_out: color(env.stdout_is_terminal),
            color_err: color(env.stderr_is_terminal),
            secrets: global.show_secrets.then_some(env.stdout_is_terminal),
        }
    }

    /// The form asked for, which must be one that the command has; the first is the default.
    ///
    /// # Errors
    /// If it is another.
    pub(crate) fn format(&self, known: &[Format]) -> Result<Format, Failure> {
        let names = || known.iter().map(|format| format.as_str()).collect::<Vec<_>>().join(", ");
        match self.format {
            None => known.first().copied().ok_or_else(|| Failure::usage("this command prints nothing")),
            Some(format) if known.contains(&format) => Ok(format),
            Some(format) => {
                Err(Failure::usage(format!("this command doesn't print {}; it prints {}", format.as_str(), names())))
            }
        }
    }

    /// Whether stdout is coloured.
    pub(crate) fn color(&self) -> bool {
        self.color_out
    }

    /// Whether sensitive values are shown.
    ///
    /// # Errors
    /// If that was asked for and stdout is no terminal: a pipe or file keeps what it gets.
    pub(crate) fn secrets(&self) -> Result<bool, Failure> {
        match self.secrets {
            None => Ok(false),
            Some(true) => Ok(true),
            Some(false) => Err(Failure::usage("--show-secrets shows them on a terminal only, and stdout is none")),
        }
    }

    /// Prints data.
    ///
    /// # Errors
    /// If stdout can't be written, but for a closed pipe.
    pub(crate) fn data(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::refused(format!("stdout can't be written: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Prints a JSON document.
    ///
    /// # Errors
    /// As [`Output::data`].
    pub(crate) fn json(&self, value: &Value) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value)?;
        self.data(&format!("{}\n", escape_json(&text)))
    }

    /// Prints a JSON document on one line.
    ///
    /// # Errors
    /// As [`Output::data`].
    pub(crate) fn json_line(&self, value: &Value) -> Result<(), Failure> {
        self.data(&format!("{}\n", escape_json(&value.to_string())))
    }

    /// Whether more is to be said than usual.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    /// Prints a value as YAML.
    ///
    /// # Errors
    /// As [`Output::data`].
    pub(crate) fn yaml(&self, value: &Value) -> Result<(), Failure> {
        self.data(&yaml::to_yaml(value))
    }

    /// Says something beside the data, unless `--quiet`.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.log("info", text);
        }
    }

    /// Says what only `--verbose` asks for.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose > 0 && !self.quiet {
            self.log("debug", text);
        }
    }

    /// A line of the loop, as the options ask for it.
    pub(crate) fn event(&self, event: &Event) {
        let wanted = match event.level {
            Level::Debug => self.verbose > 0 && !self.quiet,
            Level::Info | Level::Warn => !self.quiet,
            Level::Error => true,
        };
        if !wanted {
            return;
        }
        let line = if self.json_log {
            escape_json(&event.to_json().to_string()).into_owned()
        } else {
            escape(&event.to_text()).into_owned()
        };
        self.show(&format!("{line}\n"));
    }

    /// Shows something on stderr as it stands, for a person who is asked; safe already.
    pub(crate) fn show(&self, text: &str) {
        // Nobody reads stderr any more: nothing can be said about it.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Whether stderr is coloured.
    pub(crate) fn color_for_people(&self) -> bool {
        self.color_err
    }

    /// Prints why a command stopped, and returns how it ends.
    pub(crate) fn stop(&self, stop: &Stop) -> Exit {
        match stop {
            Stop::Failure(failure) => {
                self.failure(failure);
                failure.exit()
            }
            Stop::Refused { rejection, exit } => {
                let printed = match self.format {
                    Some(Format::Json) => self.json(&report::json(rejection)),
                    Some(Format::Markdown) => self.data(&report::markdown(rejection)),
                    _ if self.json_log => {
                        self.log("error", &report::text(rejection, false));
                        Ok(())
                    }
                    _ => {
                        self.show(&report::text(rejection, self.color_err));
                        Ok(())
                    }
                };
                if let Err(failure) = printed {
                    self.failure(&failure);
                }
                *exit
            }
        }
    }

    /// Prints a failure and what to do.
    pub(crate) fn failure(&self, failure: &Failure) {
        let text = match failure.hint_text() {
            Some(hint) => format!("{failure}\nhint: {hint}"),
            None => failure.to_string(),
        };
        self.log("error", &text);
    }

    fn log(&self, level: &str, text: &str) {
        let line = if self.json_log {
            let value = json!({"level": level, "message": text});
            escape_json(&value.to_string()).into_owned()
        } else if level == "error" {
            format!("error: {}", escape_lines(text))
        } else {
            escape(text).into_owned()
        };
        self.show(&format!("{line}\n"));
    }
}
