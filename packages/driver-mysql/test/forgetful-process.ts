/**
 * Never closes its connections: `node forgetful-process.ts <url> <task> [<ca file>]`. It prints `done` when its last call has ended, and
 * then has nothing else to do.
 */
import { readFileSync } from 'node:fs'
import { CompiledQuery } from 'kysely'
import { parseShardAddress } from '../src/connection/shard-address.ts'
import { connectShard } from '../src/shard/connect-shard.ts'

const [url = '', task, caFile] = process.argv.slice(2)
const tls = caFile === undefined ? undefined : { ca: readFileSync(caFile) }
const pool = connectShard(parseShardAddress(url, 'MySQL shard 0', tls), {
  poolSize: 2,
  maxQueue: 1_000,
  deadlineMs: 60_000,
  connectTimeoutMs: 60_000,
  lockWaitSeconds: 3,
  idleMs: 3_600_000,
  breakerFailures: 1,
  breakerProbeMs: 10,
  readOnlyMs: 10_000,
})

async function ask(sql: string): Promise<void> {
  const connection = await pool.acquire()
  try {
    await connection.executeQuery(CompiledQuery.raw(sql))
  } finally {
    pool.release(connection)
  }
}

switch (task) {
  case 'idle':
    await Promise.all([ask('SELECT 1'), ask('SELECT 1')])
    await ask('SELECT 1')
    break
  // The third call waits for a connection.
  case 'busy':
    await ask('SELECT 1')
    await Promise.all([ask('SELECT SLEEP(1)'), ask('SELECT SLEEP(1)'), ask('SELECT SLEEP(1)')])
    break
  case 'refused':
    await ask('SELECT 1').catch(() => undefined)
    break
  default:
    throw new Error('Name a case as the argument.')
}
process.stdout.write('done\n')
