//! Steps as lines of a script that anybody can read, write and run.

use std::fmt;
use std::str::FromStr;

use super::step::{DEATHS, Given, Job, Manifest, MarkEdit, Name, Res, Side, Step, What, Who};

const WHATS: [(What, &str); 4] =
    [(What::Repair, "repair"), (What::Orphan, "orphan"), (What::Prune, "remove"), (What::Rebuild, "rebuild")];

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(side) => f.write_str(side.name()),
            Self::Alone(side) => write!(f, "{}-alone", side.name()),
            Self::Both => f.write_str("both"),
        }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, word)) = WHATS.iter().find(|(what, _)| *what == self.what) {
            write!(f, "{word} ")?;
        }
        write!(f, "{}", self.who)
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.deletes, "deletes"),
            (self.adopt, "adopt"),
            (self.allow, "allow"),
            (self.release, "release"),
            (self.from, "from"),
        ];
        all.iter().filter(|(given, _)| *given).try_for_each(|(_, word)| write!(f, " {word}"))
    }
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))?;
        if self.wave != 0 {
            write!(f, " wave={}", self.wave)?;
        }
        self.release.map_or(Ok(()), |name| write!(f, " release={}", name.text()))?;
        self.from.map_or(Ok(()), |name| write!(f, " from={}", name.text()))
    }
}

/// A time that may be without end.
struct Until(Option<u8>);

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |seconds| write!(f, " {seconds}s"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declare(side, res, manifest) => write!(f, "declare {} {}{manifest}", side.name(), res.name()),
            Self::Withdraw(side, res) => write!(f, "withdraw {} {}", side.name(), res.name()),
            Self::Rewind(side) => write!(f, "rewind {}", side.name()),
            Self::Prune(side, on) => write!(f, "prune {} {on}", side.name()),
            Self::Apply(job, given) => write!(f, "apply {job}{given}"),
            Self::Save(slot, job, given) => write!(f, "save {slot} {job}{given}"),
            Self::ApplySaved(slot) => write!(f, "apply-saved {slot}"),
            Self::Cut(job, given) => write!(f, "cut {job}{given}"),
            Self::Kill(job, at) => write!(f, "kill {job} {at}"),
            Self::Put(hand, res, key, value, mark) => {
                let value = value.map_or_else(|| "none".to_owned(), |v| v.to_string());
                write!(f, "put {hand} {} {key} {value} ", res.name())?;
                match mark {
                    MarkEdit::Keep => f.write_str("keep"),
                    MarkEdit::Off => f.write_str("off"),
                    MarkEdit::Garbage => f.write_str("garbage"),
                    MarkEdit::Copy(res) => write!(f, "copy {}", res.name()),
                }
            }
            Self::Delete(hand, res) => write!(f, "delete {hand} {}", res.name()),
            Self::Remake(hand, res) => write!(f, "remake {hand} {}", res.name()),
            Self::Pause(side, until) => write!(f, "pause {}{}", side.name(), Until(*until)),
            Self::Resume(side, revert) => write!(f, "resume {} {revert}", side.name()),
            Self::Pin(side, back, until) => {
                write!(f, "pin {}", side.name())?;
                back.map_or(Ok(()), |back| write!(f, " {back}"))?;
                write!(f, "{}", Until(*until))
            }
            Self::Unpin(side) => write!(f, "unpin {}", side.name()),
            Self::Rename(side) => write!(f, "rename {}", side.name()),
            Self::Tick(side) => write!(f, "tick {}", side.name()),
            Self::Wait(seconds) => write!(f, "wait {seconds}s"),
        }
    }
}

/// The words of a line that were not read yet.
struct Words<'a>(std::iter::Peekable<std::str::SplitWhitespace<'a>>);

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| "a word is missing".to_owned())
    }

    fn side(&mut self) -> Result<Side, String> {
        let word = self.next()?;
        side_of(word)
    }

    fn res(&mut self) -> Result<Res, String> {
        let word = self.next()?;
        Res::ALL.into_iter().find(|res| res.name() == word).ok_or_else(|| format!("{word} is no resource"))
    }

    fn small(&mut self) -> Result<u8, String> {
        self.next()?.parse().map_err(|_| "a number is missing".to_owned())
    }

    fn key(&mut self) -> Result<char, String> {
        key_of(self.next()?)
    }

    fn job(&mut self) -> Result<Job, String> {
        let word = self.next()?;
        let what = WHATS.iter().find(|(_, known)| *known == word);
        let who = match what {
            Some(_) => self.next()?,
            None => word,
        };
        let who = match who.strip_suffix("-alone") {
            Some(side) => Who::Alone(side_of(side)?),
            None if who == "both" => Who::Both,
            None => Who::One(side_of(who)?),
        };
        Ok(Job { what: what.map_or(What::Apply, |(what, _)| *what), who })
    }

    fn given(&mut self) -> Result<Given, String> {
        let mut given = Given::default();
        for word in self.0.by_ref() {
            match word {
                "deletes" => given.deletes = true,
                "adopt" => given.adopt = true,
                "allow" => given.allow = true,
                "release" => given.release = true,
                "from" => given.from = true,
                other => return Err(format!("{other} is no permission")),
            }
        }
        Ok(given)
    }

    fn manifest(&mut self) -> Result<Manifest, String> {
        let mut manifest = Manifest::default();
        for word in self.0.by_ref() {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("{word} is no KEY=VALUE"))?;
            let bad = || format!("{word} can't be read");
            match key {
                "wave" => manifest.wave = value.parse().map_err(|_| bad())?,
                "release" => manifest.release = Some(name_of(value)?),
                "from" => manifest.from = Some(name_of(value)?),
                _ => drop(manifest.data.insert(key_of(key)?, value.parse().map_err(|_| bad())?)),
            }
        }
        Ok(manifest)
    }

    /// Seconds, if they are next.
    fn until(&mut self) -> Result<Option<u8>, String> {
        let seconds = self.0.peek().and_then(|word| word.strip_suffix('s'));
        let seconds = seconds.map(|n| n.parse().map_err(|_| format!("{n}s is no time"))).transpose()?;
        if seconds.is_some() {
            self.0.next();
        }
        Ok(seconds)
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut words = Words(line.split_whitespace().peekable());
        let step = read(&mut words)?;
        words.0.next().map_or(Ok(step), |word| Err(format!("{word} is too much")))
    }
}

fn read(words: &mut Words<'_>) -> Result<Step, String> {
    Ok(match words.next()? {
        "declare" => Step::Declare(words.side()?, words.res()?, words.manifest()?),
        "withdraw" => Step::Withdraw(words.side()?, words.res()?),
        "rewind" => Step::Rewind(words.side()?),
        "prune" => Step::Prune(words.side()?, words.next()? == "true"),
        "apply" => Step::Apply(words.job()?, words.given()?),
        "save" => Step::Save(words.small()?, words.job()?, words.given()?),
        "apply-saved" => Step::ApplySaved(words.small()?),
        "cut" => Step::Cut(words.job()?, words.given()?),
        "kill" => {
            let (job, at) = (words.job()?, words.next()?);
            let at = DEATHS.iter().find(|known| **known == at).ok_or_else(|| format!("{at} is no place"))?;
            Step::Kill(job, at)
        }
        "put" => {
            let (hand, res, key) = (words.small()?, words.res()?, words.key()?);
            let value = match words.next()? {
                "none" => None,
                value => Some(value.parse().map_err(|_| format!("{value} is no value"))?),
            };
            let mark = match words.next()? {
                "keep" => MarkEdit::Keep,
                "off" => MarkEdit::Off,
                "garbage" => MarkEdit::Garbage,
                "copy" => MarkEdit::Copy(words.res()?),
                other => return Err(format!("{other} is no edit of a mark")),
            };
            Step::Put(hand, res, key, value, mark)
        }
        "delete" => Step::Delete(words.small()?, words.res()?),
        "remake" => Step::Remake(words.small()?, words.res()?),
        "pause" => Step::Pause(words.side()?, words.until()?),
        "resume" => Step::Resume(words.side()?, words.next()? == "true"),
        "pin" => {
            let side = words.side()?;
            let back = words.0.peek().and_then(|word| word.parse().ok());
            if back.is_some() {
                words.next()?;
            }
            Step::Pin(side, back, words.until()?)
        }
        "unpin" => Step::Unpin(words.side()?),
        "rename" => Step::Rename(words.side()?),
        "tick" => Step::Tick(words.side()?),
        "wait" => Step::Wait(words.until()?.ok_or("how long?")?),
        other => return Err(format!("{other} is no step")),
    })
}

fn side_of(word: &str) -> Result<Side, String> {
    Side::BOTH.into_iter().find(|side| side.name() == word).ok_or_else(|| format!("{word} is no Source"))
}

fn name_of(word: &str) -> Result<Name, String> {
    Name::ALL.into_iter().find(|name| name.text() == word).ok_or_else(|| format!("{word} is no name"))
}

fn key_of(word: &str) -> Result<char, String> {
    word.chars().next().filter(|_| word.len() == 1).ok_or_else(|| format!("{word} is no key"))
}
