//! The models of a folder, async.

use std::collections::VecDeque;
use std::path::Path;

use super::Model;
use super::off::run;
use crate::discover::{Found, Job, Opened, Options, walk};
use crate::error::{Error, ErrorKind};
use crate::model::{self, Gathering, shard_name};

/// The models of a folder, each opened when it is asked for.
#[derive(Debug)]
pub struct Discovery {
    jobs: VecDeque<Job>,
    options: model::Options,
}

/// Looks for models, as the blocking `discover` does.
///
/// # Errors
/// The system's, when the folder itself cannot be listed.
pub async fn discover(folder: impl AsRef<Path>, options: &Options) -> Result<Discovery, Error> {
    let (folder, options) = (folder.as_ref().to_path_buf(), *options);
    let walked = run(move || Ok(walk(&folder, &options))).await;
    let jobs = walked.map_err(|error| Error::new(ErrorKind::Io(error), "listing the folder"))??;
    Ok(Discovery { jobs, options: options.model })
}

impl Discovery {
    /// The next model, or why a file or folder is none; `None` = that was all.
    pub async fn next(&mut self) -> Option<Result<Found, Error>> {
        loop {
            match self.jobs.pop_front()? {
                Job::Fault(error) => return Some(Err(error)),
                Job::File(path) => {
                    let opened = Model::open_with(&path, &self.options).await;
                    return Some(opened.map(|model| Found::alone(path, model.into_facts())));
                }
                Job::Set(files) => {
                    let Some(name) = shard_name(&files[0]) else { continue };
                    let (mut opened, mut gathering) = (Opened::default(), Gathering::new(name));
                    for path in &files {
                        match Model::open_with(path, &self.options).await {
                            Ok(model) => {
                                opened.keep(path, model.facts());
                                gathering.add(path, Ok(model.facts()));
                            }
                            Err(error) => gathering.add(path, Err(error)),
                        }
                    }
                    if let Some(found) = opened.found(gathering.finish(), &mut self.jobs) {
                        return Some(Ok(found));
                    }
                }
            }
        }
    }
}
