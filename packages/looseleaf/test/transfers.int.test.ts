import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { DataStore, defineIndex, mysqlShards, type EntityId } from 'looseleaf'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'

const PROGRAM = await bundleOf(new URL('./transfer-cents.ts', import.meta.url))
const ACCOUNTS = 12
const CENTS = 100
const PROCESSES = 3
/** Kills of a process or of a connection, one after the other. */
const KILLS = 6

const byFrom = defineIndex('by_from', { properties: { from: 'uuid' }, shardOn: 'from' })

test('transfers of several processes that are killed never change the sum of the accounts, and each is applied once', async () => {
  const { urls } = await freshShards(1)
  const [url] = urls as [string]
  const store = await DataStore.open({
    shards: mysqlShards(urls),
    indexes: [byFrom],
    migrate: true,
    onWarning: () => {},
  })
  onTestFinished(() => store.close())
  const first = store.newId()
  const ids = [first, ...Array.from({ length: ACCOUNTS - 1 }, () => store.newId({ near: first }))]
  await store.batch(ids.map((id) => ({ insert: { cents: CENTS }, id })))

  const printed: string[] = []
  const start = async (): Promise<() => Promise<void>> => {
    const child = spawn(process.execPath, [PROGRAM, url, ...ids], { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.setEncoding('utf8')
    const kill = async (): Promise<void> => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    onTestFinished(kill)
    const [ready] = (await once(child.stdout, 'data')) as [string]
    expect(ready).toBe('ready\n')
    child.stdout.on('data', (text: string) => printed.push(text))
    return kill
  }
  const kills = await Promise.all(Array.from({ length: PROCESSES }, start))
  const killer = await createConnection({ uri: url })
  onTestFinished(() => killer.end())

  /** Reads all accounts by one statement. */
  const snapshot = async (): Promise<number[]> =>
    (await store.getMany(ids)).map((account) => Number(account!['cents']))
  const seen = new Set<string>()
  async function look(times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const cents = await snapshot()
      expect(cents.reduce((sum, each) => sum + each, 0)).toBe(ACCOUNTS * CENTS)
      expect(Math.min(...cents)).toBeGreaterThanOrEqual(0)
      seen.add(cents.join())
    }
  }

  for (let round = 0; round < KILLS; round++) {
    await look(10)
    const victim = round % PROCESSES
    if (round % 2 === 0) {
      await kills[victim]!()
      kills[victim] = await start()
    } else {
      const [threads] = await killer.query<RowDataPacket[]>('SHOW PROCESSLIST')
      for (const { Id, db, Info } of threads) {
        if (db === new URL(url).pathname.slice(1) && Info !== null && Id !== killer.threadId)
          await killer.query(`KILL ${Number(Id)}`).catch(() => {})
      }
    }
  }
  await Promise.all(kills.map((kill) => kill()))
  await look(1)
  // The accounts moved between the snapshots.
  expect(seen.size).toBeGreaterThan(KILLS)
  expect(printed).toEqual([])

  let before: number[]
  let after = await snapshot()
  let computed: number[]
  // The server may finish the COMMIT of a killed process while the transfers are read.
  do {
    before = after
    computed = await accountsByTransfers(store, ids)
    after = await snapshot()
  } while (before.join() !== after.join())
  expect(computed).toEqual(after)
}, 120_000)

/** Returns the cents of the accounts, by the transfers that are stored. */
async function accountsByTransfers(store: DataStore, ids: readonly EntityId[]): Promise<number[]> {
  const cents = new Map<EntityId, number>(ids.map((id) => [id, CENTS]))
  for await (const entity of store.scan()) {
    const { from, to, cents: moved } = entity as { from?: EntityId; to?: EntityId; cents?: number }
    if (from === undefined || to === undefined) continue
    cents.set(from, cents.get(from)! - moved!)
    cents.set(to, cents.get(to)! + moved!)
  }
  return ids.map((id) => cents.get(id)!)
}
