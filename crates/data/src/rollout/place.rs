//! The place of a run: a directory, or an object store.

use std::path::{Path, PathBuf};

use super::error::RolloutError;
use bristle::error::ParameterError;

/// Where a run, its shards or its datasets are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory: a path, or one after `file://`.
    Directory(PathBuf),
    /// The URL of a place in a store of objects, `s3://bucket/path` or `gs://bucket/path`, without a slash at
    /// its end.
    Store(String),
}

impl Place {
    /// What `out` says.
    ///
    /// # Errors
    /// Another scheme, or a URL without a bucket or without a path in it.
    pub fn of(out: &Path) -> Result<Self, RolloutError> {
        let text = out.to_string_lossy();
        let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| !scheme.contains(['/', '\\'])) else {
            return Ok(Self::Directory(out.to_owned()));
        };
        let wrong = |accepted: &str| Err(wrong(&text, accepted));
        match scheme {
            "file" => match rest.strip_prefix("localhost").unwrap_or(rest) {
                path if path.starts_with('/') => Ok(Self::Directory(path.into())),
                _ => wrong("three slashes before the path from the root, as in `file:///data/run`"),
            },
            "s3" | "gs" => {
                let rest = rest.trim_end_matches('/');
                let whole = rest.split_once('/').is_some_and(|(bucket, path)| !bucket.is_empty() && !path.is_empty());
                let odd = rest.split('/').any(|part| part.is_empty() || part == "." || part == "..");
                if !whole || odd {
                    return wrong("a bucket and a path in it, as in `s3://bucket/runs/in_hand`");
                }
                Ok(Self::Store(format!("{scheme}://{rest}")))
            }
            _ => wrong("a directory, or a URL that begins with `file://`, `s3://` or `gs://`"),
        }
    }

    /// The directory that `out` names, for what is not written to stores.
    ///
    /// # Errors
    /// As [`Self::of`], or a store.
    pub fn directory(out: &Path) -> Result<PathBuf, RolloutError> {
        match Self::of(out)? {
            Self::Directory(dir) => Ok(dir),
            Self::Store(url) => {
                Err(wrong(&url, "a directory here; `bristle rollout` and `bristle merge` write to stores"))
            }
        }
    }
}

/// The path from the root without links, also of what is not there yet.
pub(super) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            real(if parent.as_os_str().is_empty() { ".".as_ref() } else { parent }).join(name)
        }
        _ => path.to_owned(),
    })
}

/// The error of a place.
pub(super) fn wrong(url: &str, accepted: &str) -> RolloutError {
    RolloutError::Place(ParameterError::new("out", url, accepted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_places() {
        let of = |out: &str| Place::of(out.as_ref());
        for dir in ["runs/a", "/a/b", "a:b", "./s3/x", "runs/s3://b/x"] {
            assert_eq!(of(dir).unwrap(), Place::Directory(dir.into()));
        }
        assert_eq!(of("file:///a/b").unwrap(), Place::Directory("/a/b".into()));
        assert_eq!(of("file://localhost/a").unwrap(), Place::Directory("/a".into()));
        assert_eq!(of("s3://bucket/a/b/").unwrap(), Place::Store("s3://bucket/a/b".into()));
        assert_eq!(of("gs://bucket/a").unwrap(), Place::Store("gs://bucket/a".into()));
        for (out, accepted) in [
            ("http://host/a", "`s3://` or `gs://`"),
            ("file://host/a", "three slashes"),
            ("file://a", "three slashes"),
            ("s3://", "a bucket and a path"),
            ("s3://bucket", "a bucket and a path"),
            ("s3://bucket/", "a bucket and a path"),
            ("gs:///a", "a bucket and a path"),
            ("s3://bucket//a", "a bucket and a path"),
            ("s3://bucket/../a", "a bucket and a path"),
        ] {
            let message = of(out).unwrap_err().to_string();
            assert!(message.contains("out = ") && message.contains(out) && message.contains(accepted), "{message}");
        }
        let message = Place::directory("s3://bucket/a".as_ref()).unwrap_err().to_string();
        assert!(message.contains("s3://bucket/a") && message.contains("a directory"), "{message}");
    }
}
