import { findServer } from '@looseleaf-tooling/mariadb'

/** Connection data of a primary. */
export interface Source {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
}

/** Settings, statements and result columns of replication on one kind of server. */
export interface Replication {
  /** Replication by row and GTID, as durable as a primary, because every server may become one. */
  readonly settings: readonly string[]
  /** Statement that returns the committed position. */
  readonly position: string
  /** Returns a statement whose `late` is 0 once the server has applied everything up to a position. */
  readonly reach: (position: string, seconds: number) => string
  readonly follow: (source: Source) => string
  readonly start: string
  readonly stopReceiving: string
  readonly stopReplaying: string
  readonly stop: string
  readonly delay: (seconds: number) => string
  readonly forget: string
  readonly status: string
  /** Status column with the received position. */
  readonly received: string
  /** Prefixes of semi-synchronous settings and counters, on the primary and on the replica. */
  readonly semiSyncSource: string
  readonly semiSyncReplica: string
  /**
   * Turns a killed primary into a replica: arguments of its start, and a statement. It must take back commits
   * that no replica has received. Undefined if the server cannot.
   */
  readonly rejoin: { readonly arguments: readonly string[]; readonly statement: string } | undefined
}

const mariadb: Replication = {
  settings: [
    '--innodb-log-file-size=16M',
    '--log-bin=binlog',
    '--binlog-format=ROW',
    '--sync-binlog=1',
    '--relay-log=relay',
    '--log-slave-updates=ON',
    '--gtid-strict-mode=ON',
    '--slave-parallel-threads=4',
    '--skip-slave-start',
  ],
  position: 'SELECT @@GLOBAL.gtid_binlog_pos AS position',
  reach: (position, seconds) => `SELECT MASTER_GTID_WAIT('${position}', ${seconds}) AS late`,
  follow: ({ host, port, user, password }) =>
    `CHANGE MASTER TO MASTER_HOST = '${host}', MASTER_PORT = ${port}, MASTER_USER = '${user}', ` +
    `MASTER_PASSWORD = '${password}', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1`,
  start: 'START SLAVE',
  stopReceiving: 'STOP SLAVE IO_THREAD',
  stopReplaying: 'STOP SLAVE SQL_THREAD',
  stop: 'STOP SLAVE',
  delay: (seconds) => `CHANGE MASTER TO MASTER_DELAY = ${seconds}`,
  forget: 'RESET SLAVE ALL',
  status: 'SHOW SLAVE STATUS',
  received: 'Gtid_IO_Pos',
  semiSyncSource: 'rpl_semi_sync_master',
  semiSyncReplica: 'rpl_semi_sync_slave',
  // A semi-synchronous replica takes such commits back during recovery, because they were never acknowledged.
  rejoin: {
    arguments: ['--read-only', '--init-rpl-role=SLAVE', '--rpl-semi-sync-slave-enabled=ON'],
    statement: 'SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_binlog_pos',
  },
}

const mysql: Replication = {
  settings: [
    '--innodb-redo-log-capacity=32M',
    '--log-bin=binlog',
    '--sync-binlog=1',
    '--relay-log=relay',
    '--log-replica-updates=ON',
    '--gtid-mode=ON',
    '--enforce-gtid-consistency=ON',
    '--replica-parallel-workers=4',
    '--skip-replica-start',
    '--plugin-load-add=semisync_source.so;semisync_replica.so',
  ],
  position: "SELECT REPLACE(@@GLOBAL.gtid_executed, '\\n', '') AS position",
  reach: (position, seconds) => `SELECT WAIT_FOR_EXECUTED_GTID_SET('${position}', ${seconds}) AS late`,
  follow: ({ host, port, user, password }) =>
    `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '${host}', SOURCE_PORT = ${port}, SOURCE_USER = '${user}', ` +
    `SOURCE_PASSWORD = '${password}', SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1`,
  start: 'START REPLICA',
  stopReceiving: 'STOP REPLICA IO_THREAD',
  stopReplaying: 'STOP REPLICA SQL_THREAD',
  stop: 'STOP REPLICA',
  delay: (seconds) => `CHANGE REPLICATION SOURCE TO SOURCE_DELAY = ${seconds}`,
  forget: 'RESET REPLICA ALL',
  status: 'SHOW REPLICA STATUS',
  received: 'Retrieved_Gtid_Set',
  semiSyncSource: 'rpl_semi_sync_source',
  semiSyncReplica: 'rpl_semi_sync_replica',
  rejoin: undefined,
}

/** Returns the entry for this machine's server. */
export function replicationHere(): Replication {
  return findServer()?.flavor === 'mysql' ? mysql : mariadb
}
