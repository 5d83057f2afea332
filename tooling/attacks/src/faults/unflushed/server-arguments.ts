/** The server syncs the binary log at every commit, before it shows the commit. */
const BINARY_LOG = ['--log-bin=binlog', '--sync-binlog=1'] as const

export function serverArguments(binaryLog: boolean): readonly string[] {
  return [
    // The server's own commits of statistics would hang with locks that every reader needs.
    '--innodb-stats-persistent=OFF',
    // A statement that waits for the log keeps its connection even if its client is gone.
    '--max-connections=1000',
    ...(binaryLog ? BINARY_LOG : []),
  ]
}
