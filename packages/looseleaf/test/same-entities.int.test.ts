import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { DataStore, defineIndex, isLooseleafError, mysqlShards } from 'looseleaf'
import { createConnection } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { shuffled } from './shuffled.ts'

const PROGRAM = await bundleOf(new URL('./write-same-entities.ts', import.meta.url))
const ROUNDS = 6

const byRound = defineIndex('by_round', { properties: { round: 'string' }, shardOn: 'round' })

interface Child {
  /** Returns the next line that the process prints. */
  line(): Promise<string>
  go(): void
}

function start(...args: readonly string[]): Child {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    line: async () => String((await lines.next()).value),
    go: () => void child.stdin.write('.'),
  }
}

async function openFresh(
  lockWaitSeconds?: number,
): Promise<{ readonly store: DataStore; readonly urls: readonly string[] }> {
  const { urls } = await freshShards(1)
  const store = await DataStore.open({
    shards: mysqlShards(urls, { lockWaitSeconds }),
    indexes: [byRound],
    migrate: true,
    queryTimeMs: 100,
    onWarning: () => {},
  })
  onTestFinished(() => store.close())
  return { store, urls }
}

/** Asks again while a busy machine takes longer than `queryTimeMs` for an answer. This time is short so that writes delete rows meanwhile. */
async function answerInTime<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;)
    try {
      return await ask()
    } catch (error) {
      if (!isLooseleafError(error, 'DEADLINE')) throw error
    }
}

test('two processes that write the same entities of a new store see no failure, and each write takes effect once', async () => {
  const { store, urls } = await openFresh()
  const both = [start(String(ROUNDS), ...urls), start(String(ROUNDS), ...urls)]
  for (const answer of ['ready', 'put']) {
    expect(await Promise.all(both.map((child) => child.line()))).toEqual([answer, answer])
    for (const child of both) child.go()
  }
  expect(await Promise.all(both.map((child) => child.line()))).toEqual(['[]', '[]'])
  const bags = await Array.fromAsync(store.scan())
  expect(bags.map(({ adds }) => adds)).toEqual(bags.map(() => 2 * ROUNDS))
  expect(bags).toHaveLength(60)
})

test('a write that waits for a lock beyond the lock timeout succeeds once the lock is released', async () => {
  const { store, urls } = await openFresh(1)
  const { id } = await store.put({ round: 'before' })
  const [other] = [await createConnection(urls[0] as string)]
  onTestFinished(() => other.end())
  for (const table of ['entities', 'index_by_round']) {
    await other.query('START TRANSACTION')
    await other.query(`SELECT version FROM ${table} FOR UPDATE`)
    const written = store.put({ round: table }, { id })
    const outcome = await Promise.race([
      written.then(() => 'written'),
      new Promise((resolve) => setTimeout(resolve, 1_500, 'waits')),
    ])
    expect(outcome).toBe('waits')
    await other.query('ROLLBACK')
    await written
    expect(await answerInTime(() => store.getAll(byRound, { round: table }))).toMatchObject([{ id }])
  }
})

test('concurrent calls of two stores in a process for the same entities end without a failure', async () => {
  const { store, urls } = await openFresh()
  const second = await DataStore.open({ shards: mysqlShards(urls) })
  onTestFinished(() => second.close())
  const ids = Array.from({ length: 80 }, () => store.newId())
  const failures: unknown[] = []
  for (let round = 0; round < 3; round++) {
    const calls = [store, second, store, second].flatMap((one, caller) =>
      shuffled(ids).map((id) => one.put({ round: `${round} ${caller}` }, { id })),
    )
    for (const result of await Promise.allSettled(calls))
      if (result.status === 'rejected') failures.push(result.reason)
  }
  expect(failures).toEqual([])
})
