import { isLooseleafError } from '@looseleaf/core'
import type { Row } from '@looseleaf/driver-kysely/internal'
import { sql, type RawBuilder } from 'kysely'

/** Packet for a body of 8 MiB, which is the codec's limit, and the rest of its statement. */
const SMALLEST_PACKET = 9 * 1024 * 1024

/** Variables of MariaDB, MySQL and their clusters. A server knows some of them. */
const variables = [
  'binlog_format',
  'enforce_storage_engine',
  'group_replication_consistency',
  'group_replication_group_name',
  'group_replication_single_primary_mode',
  'innodb_doublewrite',
  'innodb_flush_log_at_trx_commit',
  'innodb_read_only',
  'log_bin',
  'max_allowed_packet',
  'read_only',
  'super_read_only',
  'sync_binlog',
  'transaction_read_only',
  'tx_read_only',
  'version',
  'wsrep_on',
  'wsrep_provider',
  'wsrep_sync_wait',
]

const states = ['wsrep_cluster_status', 'wsrep_local_state', 'wsrep_local_state_comment']

/** Names of one column of SHOW REPLICA STATUS, in MariaDB and in MySQL. */
const replicaColumns = ['Slave_IO_Running', 'Replica_IO_Running']

type Query = (text: RawBuilder<Row>) => Promise<readonly Row[]>

/** Values of a server's variables, states and columns, by their names in lower case. */
export type ServerValues = ReadonlyMap<string, string>

/**
 * Returns a sentence for each setting that makes the server unfit to be a shard, or that may undo acknowledged writes. Needs no
 * privilege; without one for SHOW REPLICA STATUS that check is skipped.
 */
export async function serverWarnings(query: Query): Promise<readonly string[]> {
  const values = new Map([
    ...(await readValues(query, 'VARIABLES', variables)),
    ...(await readValues(query, 'STATUS', states)),
  ])
  for (const source of await replicaStatus(query)) {
    for (const name of replicaColumns) {
      if (name in source) values.set('replica_io_running', String(source[name]))
    }
  }
  return warningsOf(values)
}

/**
 * Returns a sentence for each setting that makes a server unfit to be read as a replica. A replica has to commit in the order of its
 * source, else its age is unknown, and to reject writes, else its rows may not be the store's.
 */
export async function replicaWarnings(query: Query): Promise<readonly string[]> {
  const values = await readValues(query, 'VARIABLES', [
    'read_only',
    'replica_preserve_commit_order',
    'slave_preserve_commit_order',
  ])
  const off = [...values]
    .filter(([, value]) => ['OFF', '0'].includes(value.toUpperCase()))
    .map(([name]) => name)
  return off.map((name) =>
    name === 'read_only'
      ? 'read_only is off on a replica: reads would return rows that were written to it by mistake. Set read_only to ON.'
      : `${name} is off on a replica: it may show a commit before an earlier one, so its age is unknown. Set ${name} to ON.`,
  )
}

/** Reads the values that the server knows, by their names in lower case. */
async function readValues(
  query: Query,
  kind: 'VARIABLES' | 'STATUS',
  names: readonly string[],
): Promise<Map<string, string>> {
  const list = sql.join(names.map((name) => sql`${sql.lit(name)}`))
  const rows = await query(sql<Row>`SHOW GLOBAL ${sql.raw(kind)} WHERE Variable_name IN (${list})`)
  return new Map(rows.map((row) => [String(row.Variable_name).toLowerCase(), String(row.Value)]))
}

/** Reads one row per source that this server replicates; none without the privilege. */
async function replicaStatus(query: Query): Promise<readonly Row[]> {
  try {
    return await query(sql<Row>`SHOW REPLICA STATUS`)
  } catch (error) {
    if (isLooseleafError(error) && !error.retryable) return []
    throw error
  }
}

/** Returns the warnings for these values. A missing value gives no warning. */
export function warningsOf(values: ServerValues): readonly string[] {
  const is = (name: string, ...accepted: string[]): boolean => {
    const value = values.get(name)
    return value !== undefined && accepted.includes(value.toUpperCase())
  }
  const isNot = (name: string, ...accepted: string[]): boolean => values.has(name) && !is(name, ...accepted)
  const warnings: string[] = []
  const warnIf = (unfit: boolean, warning: string): void => {
    if (unfit) warnings.push(warning)
  }

  warnings.push(...versionWarnings(values.get('version')))
  warnIf(
    isNot('log_bin', 'OFF', '0') && is('binlog_format', 'STATEMENT'),
    'binlog_format is STATEMENT: every write is refused (error 1665); set it to ROW or MIXED.',
  )
  warnIf(
    isNot('enforce_storage_engine', '', 'INNODB'),
    `enforce_storage_engine is ${values.get('enforce_storage_engine')}: tables need InnoDB, so none can be created.`,
  )
  const galera = is('wsrep_on', 'ON', '1') && isNot('wsrep_provider', 'NONE', '')
  const group = isNot('group_replication_group_name', '')

  warnIf(
    isNot('innodb_flush_log_at_trx_commit', '1', '3'),
    galera
      ? 'innodb_flush_log_at_trx_commit is not 1: a crash of all machines of the cluster at once may undo the last acknowledged writes.'
      : 'innodb_flush_log_at_trx_commit is not 1: a crash of the machine may undo the last acknowledged writes.',
  )
  warnIf(
    isNot('log_bin', 'OFF', '0') && isNot('sync_binlog', '1'),
    'sync_binlog is not 1: after a crash, replicas may lack writes of this server, or have writes that it lost.',
  )
  warnIf(
    isNot('innodb_doublewrite', 'ON', '1', 'DETECT_AND_RECOVER'),
    `innodb_doublewrite is ${values.get('innodb_doublewrite')}: a crash of the machine may leave torn pages.`,
  )
  for (const name of ['read_only', 'super_read_only', 'innodb_read_only']) {
    warnIf(isNot(name, 'OFF', '0'), `${name} is on: writes are refused.`)
  }
  // MariaDB renamed it in 11.1, and has both names since. MySQL has the new one.
  const readOnlyName = values.has('transaction_read_only') ? 'transaction_read_only' : 'tx_read_only'
  warnIf(
    isNot(readOnlyName, 'OFF', '0'),
    `${readOnlyName} is on: every transaction begins as a read-only one, so writes are refused. Set it to OFF.`,
  )
  const packet = Number(values.get('max_allowed_packet') ?? SMALLEST_PACKET)
  warnIf(
    packet < SMALLEST_PACKET,
    `max_allowed_packet is ${packet} bytes: bodies of the greatest size need ${SMALLEST_PACKET} bytes.`,
  )
  warnIf(
    is('replica_io_running', 'YES', 'CONNECTING'),
    'the server replicates another one (SHOW REPLICA STATUS): only one of the two may be written.',
  )
  if (galera) warnings.push(...galeraWarnings(values, isNot))
  if (group) {
    warnIf(
      is('group_replication_single_primary_mode', 'OFF', '0'),
      'group_replication_single_primary_mode is off: adding an index is safe only while one server of the group is written.',
    )
    warnIf(
      is('group_replication_consistency', 'EVENTUAL'),
      'group_replication_consistency is EVENTUAL: after a move to another server, reads may miss acknowledged writes.',
    )
  }
  return warnings
}

/** Oldest supported versions, as major and minor number. */
const oldest = { MariaDB: [10, 6], MySQL: [8, 0] } as const

function versionWarnings(version: string | undefined): readonly string[] {
  const numbers = /^(\d+)\.(\d+)/.exec(version ?? '')
  if (version === undefined || numbers === null) return []
  const name = /mariadb/i.test(version) ? 'MariaDB' : 'MySQL'
  const [major, minor] = [Number(numbers[1]), Number(numbers[2])]
  const [oldestMajor, oldestMinor] = oldest[name]
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return []
  return [
    `the server is ${name} ${major}.${minor}: versions before MariaDB 10.6 and MySQL 8.0 are not supported or tested.`,
  ]
}

function galeraWarnings(
  values: ServerValues,
  isNot: (name: string, ...accepted: string[]) => boolean,
): readonly string[] {
  const warnings: string[] = []
  if (isNot('wsrep_cluster_status', 'PRIMARY')) {
    warnings.push(
      `wsrep_cluster_status is ${values.get('wsrep_cluster_status')}: the node is not in the majority of its cluster and refuses everything.`,
    )
  } else if (isNot('wsrep_local_state', '4')) {
    const state = values.get('wsrep_local_state_comment') ?? values.get('wsrep_local_state')
    warnings.push(
      `wsrep_local_state is not 4 (Synced) but ${state}: the node is behind its cluster, or may fall behind.`,
    )
  }
  // The lowest bit stands for reads.
  if (values.has('wsrep_sync_wait') && (Number(values.get('wsrep_sync_wait')) & 1) === 0) {
    warnings.push(
      'wsrep_sync_wait does not include 1: after a move to another node, reads may miss acknowledged writes.',
    )
  }
  return warnings
}
