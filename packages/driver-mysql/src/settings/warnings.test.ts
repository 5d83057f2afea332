import { LooseleafError } from '@looseleaf/core'
import {
  Kysely,
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  DummyDriver,
  type RawBuilder,
} from 'kysely'
import { expect, test } from 'vitest'
import { replicaWarnings, serverWarnings, warningsOf } from './warnings.ts'

type Values = Readonly<Record<string, string>>

const alone = {
  innodb_flush_log_at_trx_commit: '1',
  sync_binlog: '1',
  log_bin: 'ON',
  innodb_doublewrite: 'ON',
  innodb_read_only: 'OFF',
  max_allowed_packet: '16777216',
  read_only: 'OFF',
  tx_read_only: 'OFF',
}

/** MariaDB with the Galera plug-in and without a cluster. */
const withoutCluster = { ...alone, wsrep_on: 'OFF', wsrep_provider: 'none', wsrep_sync_wait: '0' }

const galera = {
  ...alone,
  wsrep_on: 'ON',
  wsrep_provider: '/usr/lib/galera/libgalera_smm.so',
  wsrep_sync_wait: '1',
  wsrep_cluster_status: 'Primary',
  wsrep_local_state: '4',
  wsrep_local_state_comment: 'Synced',
}

const mysqlAlone = {
  ...alone,
  super_read_only: 'OFF',
  transaction_read_only: 'OFF',
  // The plug-in is installed, and the server is in no group.
  group_replication_group_name: '',
  group_replication_single_primary_mode: 'OFF',
  group_replication_consistency: 'EVENTUAL',
}

const group = {
  ...mysqlAlone,
  group_replication_group_name: 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa',
  group_replication_single_primary_mode: 'ON',
  group_replication_consistency: 'BEFORE_ON_PRIMARY_FAILOVER',
}

const warnings = (values: Values): readonly string[] => warningsOf(new Map(Object.entries(values)))

test.each<[string, Values]>([
  ['without any value', {}],
  ['alone', alone],
  ['without a binary log', { ...alone, log_bin: 'OFF', sync_binlog: '0', binlog_format: 'STATEMENT' }],
  ['that logs safe statements as text', { ...alone, binlog_format: 'MIXED' }],
  ['that enforces InnoDB', { ...alone, enforce_storage_engine: 'InnoDB' }],
  ['that enforces no engine', { ...alone, enforce_storage_engine: '' }],
  ['of MariaDB in no cluster', withoutCluster],
  ['of MySQL in no group', mysqlAlone],
  ['in a Galera cluster', galera],
  ['in a Galera cluster that waits for more than reads', { ...galera, wsrep_sync_wait: '15' }],
  ['in a group with one primary', group],
  ['that once replicated another', { ...alone, replica_io_running: 'No' }],
  ['of MySQL that recovers torn pages', { ...mysqlAlone, innodb_doublewrite: 'DETECT_AND_RECOVER' }],
])('a server %s has no warnings with safe settings', (_, values) => {
  expect(warnings(values)).toEqual([])
})

test.each<[string, string, Values, RegExp?]>([
  ['innodb_flush_log_at_trx_commit', '2', alone, /crash of the machine/],
  ['innodb_flush_log_at_trx_commit', '0', alone],
  ['innodb_flush_log_at_trx_commit', '0', galera, /all machines of the cluster/],
  ['sync_binlog', '0', alone],
  ['innodb_doublewrite', 'OFF', alone],
  ['innodb_doublewrite', 'fast', alone],
  ['innodb_doublewrite', 'DETECT_ONLY', mysqlAlone],
  ['max_allowed_packet', '1048576', alone],
  ['binlog_format', 'STATEMENT', alone, /refused.*ROW or MIXED/],
  ['enforce_storage_engine', 'Aria', alone, /Aria.*InnoDB/],
  ['read_only', 'ON', alone],
  ['read_only', 'NO_LOCK_NO_ADMIN', alone],
  ['super_read_only', 'ON', mysqlAlone],
  ['innodb_read_only', 'ON', alone],
  ['tx_read_only', 'ON', alone, /Set it to OFF/],
  ['transaction_read_only', 'ON', mysqlAlone],
  ['transaction_read_only', 'ON', { ...alone, tx_read_only: 'ON' }],
  ['wsrep_cluster_status', 'non-Primary', galera],
  ['wsrep_cluster_status', 'Disconnected', galera],
  ['wsrep_local_state', '2', { ...galera, wsrep_local_state_comment: 'Donor/Desynced' }, /Donor/],
  ['wsrep_sync_wait', '0', galera],
  ['wsrep_sync_wait', '6', galera],
  ['group_replication_single_primary_mode', 'OFF', group],
  ['group_replication_consistency', 'EVENTUAL', group],
])('%s = %s has one warning, with its name', (name, value, values, what = /./) => {
  const found = warnings({ ...values, [name]: value })
  expect(found).toEqual([expect.stringContaining(name)])
  expect(found[0]).toMatch(what)
})

test.each([
  '10.6.7-MariaDB-log',
  '11.8.9-MariaDB-ubu2404',
  '8.0.28-0ubuntu4',
  '8.0.mysql_aurora.3.04.0',
  '9.7.4-2',
  'unknown',
])('a server of version %s has no warning', (version) => {
  expect(warnings({ ...alone, version })).toEqual([])
})

test.each([
  ['10.5.29-MariaDB', 'MariaDB 10.5'],
  ['5.5.68-MariaDB', 'MariaDB 5.5'],
  ['5.7.44-log', 'MySQL 5.7'],
  ['5.6.51', 'MySQL 5.6'],
])('a server of version %s has a warning', (version, name) => {
  expect(warnings({ ...alone, version })).toEqual([expect.stringContaining(`the server is ${name}:`)])
})

test.each(['Yes', 'Connecting'])('a server that replicates another one (%s) has a warning', (running) => {
  expect(warnings({ ...alone, replica_io_running: running })).toEqual([
    expect.stringContaining('SHOW REPLICA STATUS'),
  ])
})

const db = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new MysqlAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (kysely) => new MysqlIntrospector(kysely),
    createQueryCompiler: () => new MysqlQueryCompiler(),
  },
})

/** A server that answers the first statement with this text with these rows. */
function serverThat(answers: Readonly<Record<string, readonly object[] | LooseleafError>>) {
  return async (text: RawBuilder<unknown>) => {
    const statement = text.compile(db).sql
    for (const [part, answer] of Object.entries(answers)) {
      if (!statement.includes(part)) continue
      if (answer instanceof LooseleafError) throw answer
      return answer as readonly Readonly<Record<string, unknown>>[]
    }
    return []
  }
}

const doublewriteOff = [{ Variable_name: 'innodb_doublewrite', Value: 'OFF' }]

test('a user without the privilege for SHOW REPLICA STATUS gets the other warnings', async () => {
  const denied = new LooseleafError('SHARD_DENIED', 'the user lacks a privilege.')
  const found = await serverWarnings(serverThat({ VARIABLES: doublewriteOff, REPLICA: denied }))
  expect(found).toEqual([expect.stringContaining('innodb_doublewrite')])
})

test.each(['Slave_IO_Running', 'Replica_IO_Running'])('the value of %s is read', async (column) => {
  const found = await serverWarnings(serverThat({ REPLICA: [{ [column]: 'Yes' }] }))
  expect(found).toEqual([expect.stringContaining('SHOW REPLICA STATUS')])
})

test('a shard that is lost while its warnings are read rejects', async () => {
  const gone = new LooseleafError('SHARD_UNAVAILABLE', 'gone.')
  await expect(serverWarnings(serverThat({ REPLICA: gone }))).rejects.toBe(gone)
})

const asReplica = (values: Values): ReturnType<typeof replicaWarnings> =>
  replicaWarnings(
    serverThat({
      VARIABLES: Object.entries(values).map(([name, Value]) => ({
        Variable_name: name.toUpperCase(),
        Value,
      })),
    }),
  )

test.each<[string, Values]>([
  ['of MariaDB', { read_only: 'ON', slave_preserve_commit_order: 'ON' }],
  ['of MariaDB without a setting for the order', { read_only: 'NO_LOCK_NO_ADMIN' }],
  ['of MySQL', { read_only: '1', replica_preserve_commit_order: '1' }],
])('a replica %s has no warnings with safe settings', async (_, values) => {
  expect(await asReplica(values)).toEqual([])
})

test.each<[string, string, RegExp]>([
  ['read_only', 'OFF', /by mistake/],
  ['replica_preserve_commit_order', 'OFF', /age/],
  ['slave_preserve_commit_order', '0', /age/],
])('a replica with %s = %s has one warning, with its name', async (name, value, what) => {
  const found = await asReplica({ read_only: 'ON', replica_preserve_commit_order: 'ON', [name]: value })
  expect(found).toEqual([expect.stringContaining(`${name} is off`)])
  expect(found[0]).toMatch(what)
})
