import { findServer } from '@looseleaf-tooling/mariadb'

/** How to reach a server that is followed. */
export interface Source {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
}

/** What replication is called on one kind of server: settings, statements, and columns of their answers. */
export interface Replication {
  /** By row and GTID, and as durable as a primary has to be, for every server may become it. */
  readonly settings: readonly string[]
  /** What a server has committed, as a position for others to reach. */
  readonly position: string
  /** Answers 0 in `late` once the server has applied all of a position. */
  readonly reach: (position: string, seconds: number) => string
  readonly follow: (source: Source) => string
  readonly start: string
  readonly stopReceiving: string
  readonly stopReplaying: string
  readonly stop: string
  readonly delay: (seconds: number) => string
  readonly forget: string
  readonly status: string
  /** The column of the status that tells what has been received. */
  readonly received: string
  /** How the names of settings and counts of semi-synchronous replication begin, on the server that waits and on the other. */
  readonly semiSyncSource: string
  readonly semiSyncReplica: string
  /**
   * What makes a primary that was killed a replica again: arguments of its start, and a statement. It may have commits that no
   * replica has received, and has to take them back. Undefined where it cannot.
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
  // As a replica of semi-synchronous replication it takes them back when it recovers, for nobody was told of them.
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

/** That of the servers of this machine. */
export function replicationHere(): Replication {
  return findServer()?.flavor === 'mysql' ? mysql : mariadb
}
