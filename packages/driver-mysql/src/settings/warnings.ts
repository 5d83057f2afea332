import { isLooseleafError } from '@looseleaf/core'
import type { Row } from '@looseleaf/driver-kysely'
import { sql, type RawBuilder } from 'kysely'

/** A body of 8 MiB, the codec's limit, and what goes with it. */
const SMALLEST_PACKET = 9 * 1024 * 1024

/** What one server or another has; MariaDB, MySQL and their clusters know different sets of them. */
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
  'version',
  'wsrep_on',
  'wsrep_provider',
  'wsrep_sync_wait',
]

const states = ['wsrep_cluster_status', 'wsrep_local_state', 'wsrep_local_state_comment']

/** The same column of SHOW REPLICA STATUS in MariaDB and MySQL. */
const replicaColumns = ['Slave_IO_Running', 'Replica_IO_Running']

type Query = (text: RawBuilder<Row>) => Promise<readonly Row[]>

/** What a server says of itself, by the names of its variables, states and columns in lower case. */
export type ServerValues = ReadonlyMap<string, string>

/**
 * What makes the server unfit to be a shard, or endangers what an acknowledged write promises. Asks for nothing that
 * takes a privilege, except for what is left out where that is missing.
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
 * What makes a server unfit to be read as a replica: how far it is can only be told where it commits in the order of its source,
 * and what it answers only where nobody else writes it.
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
      ? 'read_only is off on a replica: what is written to it by mistake is answered as if it were of the store.'
      : `${name} is off on a replica: it may show a commit before an earlier one, so its age cannot be told.`,
  )
}

/** Those of these that the server knows, by their names in lower case. */
async function readValues(
  query: Query,
  of: 'VARIABLES' | 'STATUS',
  names: readonly string[],
): Promise<Map<string, string>> {
  const named = sql.join(names.map((name) => sql`${sql.lit(name)}`))
  const rows = await query(sql<Row>`SHOW GLOBAL ${sql.raw(of)} WHERE Variable_name IN (${named})`)
  return new Map(rows.map((row) => [String(row.Variable_name).toLowerCase(), String(row.Value)]))
}

/** One row for each server that this one follows. Takes a privilege, without which it is left open. */
async function replicaStatus(query: Query): Promise<readonly Row[]> {
  try {
    return await query(sql<Row>`SHOW REPLICA STATUS`)
  } catch (error) {
    if (isLooseleafError(error) && !error.retryable) return []
    throw error
  }
}

/** What is not there is not judged. */
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
    `enforce_storage_engine is ${values.get('enforce_storage_engine')}: no tables can be created, since they have to be of InnoDB.`,
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
    'sync_binlog is not 1: after a crash, replicas may miss or have writes that this server has not.',
  )
  warnIf(
    isNot('innodb_doublewrite', 'ON', '1', 'DETECT_AND_RECOVER'),
    `innodb_doublewrite is ${values.get('innodb_doublewrite')}: a crash of the machine may leave torn pages.`,
  )
  for (const name of ['read_only', 'super_read_only', 'innodb_read_only']) {
    warnIf(isNot(name, 'OFF', '0'), `${name} is on: writes are refused.`)
  }
  const packet = Number(values.get('max_allowed_packet') ?? SMALLEST_PACKET)
  warnIf(
    packet < SMALLEST_PACKET,
    `max_allowed_packet is ${packet} bytes: bodies of the greatest size need ${SMALLEST_PACKET} bytes.`,
  )
  warnIf(
    is('replica_io_running', 'YES', 'CONNECTING'),
    'the server follows another one (SHOW REPLICA STATUS): of the two, only one may be written.',
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

/** The oldest that are supported, as major and minor number. */
const oldest = { MariaDB: [10, 6], MySQL: [8, 0] } as const

function versionWarnings(version: string | undefined): readonly string[] {
  const numbers = /^(\d+)\.(\d+)/.exec(version ?? '')
  if (version === undefined || numbers === null) return []
  const name = /mariadb/i.test(version) ? 'MariaDB' : 'MySQL'
  const [major, minor] = [Number(numbers[1]), Number(numbers[2])]
  const [least, leastMinor] = oldest[name]
  if (major > least || (major === least && minor >= leastMinor)) return []
  return [
    `the server is ${name} ${major}.${minor}: what is older than MariaDB 10.6 or MySQL 8.0 is not supported, and was not tested.`,
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
  // The first of its bits stands for reads.
  if (values.has('wsrep_sync_wait') && (Number(values.get('wsrep_sync_wait')) & 1) === 0) {
    warnings.push(
      'wsrep_sync_wait does not include 1: after a move to another node, reads may miss acknowledged writes.',
    )
  }
  return warnings
}
