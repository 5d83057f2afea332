import { consume, readConsumers } from '@looseleaf/changes'
import { defineKind, typed } from '@looseleaf/kinds'
import { DataStore } from '@looseleaf/store'
import { expect, onTestFinished, test, vi } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import { projectFolder, runInside } from './run-command.ts'

const SHARDS = 'sqlite:data?shards=2'

test('consumer commands list consumers, replay and discard dead letters, and drop a consumer', async () => {
  const cwd = projectFolder()
  const run = (...args: string[]): ReturnType<typeof runInside> =>
    runInside([...args, '--shards', SHARDS], { cwd })
  const store = await DataStore.open({
    shards: shardsFrom(SHARDS, { relativeTo: cwd, create: true }),
    migrate: true,
  })
  onTestFinished(() => store.close())
  expect((await run('consumer', 'list')).stdout).toBe('No consumers.\n')
  const unknown = await run('consumer', 'letters', 'search')
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    expect.stringContaining('The store has no consumer search; it has none.'),
  ])

  for (const command of [['drop'], ['letters', '--discard']]) {
    const { stderr } = await run('consumer', ...command, 'search')
    expect(stderr).toContain('The store has no consumer search; it has none.')
    expect(stderr).not.toContain('--yes')
  }

  const ids = await Promise.all([1, 2, 3].map(async (n) => (await store.put({ n })).id))
  const refuse = (): void => {
    throw new Error('No\u001B[31m room')
  }
  const options = { from: 'beginning', pollMs: 10, retryMs: 1, maxAttempts: 2 } as const
  const consumer = consume(store, 'search', refuse, options)
  await vi.waitUntil(() => consumer.status().deadLettered === 3, { timeout: 10_000 })

  // The consumer saves its progress once a second.
  const failing = async (): Promise<number> =>
    (await readConsumers(store))[0]!.shards.reduce((sum, shard) => sum + shard.failing, 0)
  await expect.poll(failing, { timeout: 10_000 }).toBe(0)
  const listed = await run('consumer', 'list', '--json')
  const [{ name, shards }] = listed.json<[{ name: string; shards: { deadLetters: number }[] }]>()
  expect([name, shards.reduce((sum, { deadLetters }) => sum + deadLetters, 0)]).toEqual(['search', 3])
  expect((await run('consumer', 'list')).stdout).toMatch(/search +all .* \d+ s +8 of 8 +1 +0 +\d/)
  expect((await run('status')).stdout).toMatch(/consumer search: has 3 dead letters/)
  const letters = await run('consumer', 'letters', 'search')
  expect(letters.code).toBe(1)
  expect(letters.stdout).toMatch(/ENTITY .*\n.* 2 +\d{4}-.* No.\[31m room/)
  expect((await run('consumer', 'letters', 'search', ids[0]!.toUpperCase(), '--json')).json()).toMatchObject([
    { id: ids[0] },
  ])
  expect((await run('consumer', 'drop', 'search', '--yes')).stderr).toContain('works on the consumer search')
  await consumer.stop()

  const forgotten = await run('consumer', 'letters', 'search', ids[0]!, '--discard', '--yes', '--json')
  expect(forgotten.json()).toEqual({ discarded: 1 })
  expect((await run('consumer', 'letters', 'search', '--replay')).stdout).toBe(
    '2 letters will be handled again.\n',
  )
  const both = await run('consumer', 'letters', 'search', '--replay', '--discard')
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('give --replay or --discard')])
  expect((await run('consumer', 'drop', 'search')).stderr).toContain(
    'Drop the consumer search, its position and its dead letters?',
  )
  expect((await run('consumer', 'drop', 'search', '--yes')).stdout).toBe('The consumer search is dropped.\n')
  expect((await run('consumer', 'list', '--json')).json()).toEqual([])
})

test('`consumer list` shows the kinds of a consumer', async () => {
  const cwd = projectFolder()
  const run = (...args: string[]): ReturnType<typeof runInside> =>
    runInside([...args, '--shards', SHARDS], { cwd })
  await using store = await DataStore.open({
    shards: shardsFrom(SHARDS, { relativeTo: cwd, create: true }),
    migrate: true,
  })
  const kinds = [
    defineKind('entry', { schema: typed() }),
    defineKind('comment', { schema: typed() }),
  ] as const
  await using consumer = consume(store, 'deliver', () => {}, { from: 'now', kinds })
  await vi.waitUntil(() => consumer.status().shards.every(({ partitions }) => partitions === 8), {
    timeout: 10_000,
  })
  expect((await run('consumer', 'list')).stdout).toMatch(
    /CONSUMER +KINDS +SHARD .*\ndeliver +entry, comment /,
  )
  expect((await run('consumer', 'list', '--json')).json()).toMatchObject([
    { name: 'deliver', kinds: ['entry', 'comment'] },
  ])
})
