//! Ports on the loopback.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use super::stat::group_of;

/// A port of 127.0.0.1 that was free a moment ago. Another may take it before it is used.
///
/// # Errors
/// The system's.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Who listens on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The process that was asked about, or another of its group.
    Group,
    /// Somebody else.
    Other,
    /// Nobody, or the system does not tell.
    Unknown,
}

/// Whether a port of 127.0.0.1 is listened on by a process of this group: by the inode of the
/// socket that listens (`/proc/net/tcp`, `tcp6`) among the group's descriptors.
pub fn owner_of_port(port: u16, group: u32) -> Owner {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|table| listeners(&table, port))
        .collect();
    if sockets.is_empty() {
        return Owner::Unknown;
    }
    // The first of the group mostly is the one.
    let mut unreadable = false;
    match holds(group, &sockets) {
        Some(true) => return Owner::Group,
        Some(false) => {}
        None => unreadable = true,
    }
    let Ok(processes) = fs::read_dir("/proc") else { return Owner::Unknown };
    for process in processes.filter_map(Result::ok) {
        let pid = process.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid.filter(|pid| group_of(*pid) == Some(group)) else { continue };
        match holds(pid, &sockets) {
            Some(true) => return Owner::Group,
            Some(false) => {}
            None => unreadable = true,
        }
    }
    if unreadable { Owner::Unknown } else { Owner::Other }
}

/// Whether a process has one of these open; `None` = it cannot be told.
fn holds(pid: u32, sockets: &[String]) -> Option<bool> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let is_one = |to: &Path| sockets.iter().any(|socket| to.as_os_str() == socket.as_str());
    let open = |entry: fs::DirEntry| fs::read_link(entry.path()).is_ok_and(|to| is_one(&to));
    Some(descriptors.filter_map(Result::ok).any(open))
}

/// The names, as descriptors have them, of the sockets that listen on 127.0.0.1 or on any address
/// at this port, by a table of `/proc/net/tcp` (proc_pid_net(5)).
fn listeners(table: &str, port: u16) -> Vec<String> {
    let mut found = Vec::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (Some(local), Some(state), Some(inode)) = (fields.get(1), fields.get(3), fields.get(9))
        else {
            continue;
        };
        let Some((_, number)) = local.rsplit_once(':') else { continue };
        // State 0A is LISTEN.
        if *state == "0A" && u16::from_str_radix(number, 16) == Ok(port) {
            found.push(format!("socket:[{inode}]"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Child;
    use std::process::Command;

    #[test]
    fn a_port_tells_who_listens() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(owner_of_port(port, std::process::id()), Owner::Group);
        let child = Child::spawn(Command::new("sleep").arg("1000")).unwrap();
        assert_eq!(owner_of_port(port, child.pid()), Owner::Other);
        drop(listener);
        assert_eq!(owner_of_port(port, std::process::id()), Owner::Unknown);
    }

    #[test]
    fn a_table_is_read_by_its_columns() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 555 1 0 100 0 0 10 0\n   \
            1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 556 1 0\nrubbish\n";
        assert_eq!(listeners(table, 8080), ["socket:[555]"]);
        assert!(listeners(table, 8081).is_empty());
    }
}
