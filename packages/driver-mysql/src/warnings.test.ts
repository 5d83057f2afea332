import { expect, test } from 'vitest'
import { warningsOf } from './warnings.ts'

const safe = {
  innodb_flush_log_at_trx_commit: '1',
  sync_binlog: '1',
  log_bin: 'ON',
  innodb_doublewrite: 'ON',
  max_allowed_packet: '16777216',
  read_only: 'OFF',
}
const warnings = (changed: object): readonly string[] =>
  warningsOf(new Map(Object.entries({ ...safe, ...changed })))

test('durable settings have no warnings', () => {
  expect(warnings({})).toEqual([])
  expect(warnings({ log_bin: 'OFF', sync_binlog: '0' })).toEqual([])
  expect(warningsOf(new Map())).toEqual([])
})

test('each setting that endangers writes is named', () => {
  for (const [name, value] of [
    ['innodb_flush_log_at_trx_commit', '2'],
    ['innodb_flush_log_at_trx_commit', '0'],
    ['sync_binlog', '0'],
    ['innodb_doublewrite', 'OFF'],
    ['max_allowed_packet', '1048576'],
    ['read_only', 'ON'],
  ] as const) {
    expect(warnings({ [name]: value })).toEqual([expect.stringContaining(name)])
  }
})
