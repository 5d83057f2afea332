/** The binary log is synced at every commit, before the commit can be seen. */
const BINARY_LOG = ['--log-bin=binlog', '--sync-binlog=1'] as const

export function serverArguments(binaryLog: boolean): readonly string[] {
  return [
    // Statistics that are saved by commits of the server's own would hang with locks that every reader needs.
    '--innodb-stats-persistent=OFF',
    // What waits for the log keeps its connection, whatever becomes of the client.
    '--max-connections=1000',
    ...(binaryLog ? BINARY_LOG : []),
  ]
}
