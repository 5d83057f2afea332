import type { Row } from '@looseleaf/driver-kysely'
import { sql, type RawBuilder } from 'kysely'

/** A body of 8 MiB, the codec's limit, and what goes with it. */
const SMALLEST_PACKET = 9 * 1024 * 1024

/** What every server knows; MariaDB and MySQL know different sets of others. */
const settings = [
  'innodb_flush_log_at_trx_commit',
  'sync_binlog',
  'log_bin',
  'innodb_doublewrite',
  'max_allowed_packet',
  'read_only',
  'innodb_rollback_on_timeout',
]

/** Settings of the server that endanger what an acknowledged write promises. */
export async function serverWarnings(
  query: (text: RawBuilder<Row>) => Promise<readonly Row[]>,
): Promise<readonly string[]> {
  const names = sql.join(settings.map((name) => sql`${sql.lit(name)}`))
  const rows = await query(sql<Row>`SHOW GLOBAL VARIABLES WHERE Variable_name IN (${names})`)
  return warningsOf(new Map(rows.map((row) => [String(row.Variable_name), String(row.Value)])))
}

/** By the names and values that SHOW VARIABLES gives; a setting that is not there is not judged. */
export function warningsOf(values: ReadonlyMap<string, string>): readonly string[] {
  const warnings: string[] = []
  const is = (name: string, ...accepted: string[]): boolean => {
    const value = values.get(name)
    return value === undefined || accepted.includes(value)
  }
  if (!is('innodb_flush_log_at_trx_commit', '1', '3')) {
    warnings.push(
      'innodb_flush_log_at_trx_commit is not 1: a crash of the machine may undo the last acknowledged writes.',
    )
  }
  if (!is('log_bin', 'OFF', '0') && !is('sync_binlog', '1')) {
    warnings.push(
      'sync_binlog is not 1: after a crash, replicas may miss or have writes that this server has not.',
    )
  }
  if (!is('innodb_doublewrite', 'ON', '1', 'DETECT_AND_RECOVER')) {
    warnings.push('innodb_doublewrite is off: a crash of the machine may leave torn pages.')
  }
  if (!is('read_only', 'OFF', '0')) warnings.push('read_only is on: writes are refused.')
  const packet = Number(values.get('max_allowed_packet') ?? SMALLEST_PACKET)
  if (packet < SMALLEST_PACKET) {
    warnings.push(
      `max_allowed_packet is ${packet} bytes: bodies of the greatest size need ${SMALLEST_PACKET} bytes.`,
    )
  }
  return warnings
}
