import { mysqlShards } from '@looseleaf/driver-mysql'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { expect, test } from 'vitest'
import { runInside, startCommand } from './run-command.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const NAMES = 20

test('no call fails and no write is lost while shard move runs in another process', async () => {
  const { urls } = await freshShards(2)
  await using store = await DataStore.open({
    shards: mysqlShards(urls),
    indexes: [byName],
    migrate: true,
    queryTimeMs: 10,
    onWarning: () => {},
  })
  const first = await store.putMany(
    Array.from({ length: 2_000 }, (_, n) => ({ name: `name ${n % NAMES}`, n, edits: 0 })),
  )
  const edits = new Map(first.map(({ id }) => [id as string, 0]))
  const errors: unknown[] = []
  let isOver = false

  /** Writes one entity after the other, and notes what was acknowledged. */
  async function write(worker: number): Promise<void> {
    for (let turn = 0; !isOver; turn++) {
      try {
        const { id } = await store.put({ name: `name ${turn % NAMES}`, n: turn, edits: 0 })
        edits.set(id, 0)
        // Each entity has one worker.
        const old = first[(turn * 4 + worker) % first.length]!.id
        await store.update(old, (bag) => ({ ...bag, edits: Number(bag['edits']) + 1 }))
        const count = edits.get(old)! + 1
        edits.set(old, count)
        const found = await store.get(old)
        if (found?.['edits'] !== count) errors.push(`a read of ${old} was stale`)
      } catch (error) {
        errors.push(error)
      }
    }
  }

  const writing = Promise.all(Array.from({ length: 4 }, (_, worker) => write(worker)))
  const args = ['shard', 'move', '--from', '0', '--to', '1', '--buckets', '0-1023', '--json']
  const { finished } = startCommand([...args, '--shards', urls.join(',')])
  const moved = await finished
  isOver = true
  await writing

  expect(moved).toMatchObject({ code: 0, stderr: '' })
  expect(moved.json()).toMatchObject({
    state: 'done',
    bucketCount: 1_024,
    handedOver: 1_024,
    forward: null,
    back: 'looseleaf shard move --from 1 --to 0 --buckets 0-1023',
    isBackLater: false,
    verified: { rows: expect.any(Number) },
    seals: { groups: expect.any(Number), worst: expect.any(Number) },
  })
  expect(errors).toEqual([])
  const stored = new Map<string, number>()
  for await (const { id, edits: count } of store.scan()) stored.set(id, Number(count))
  expect(stored).toEqual(edits)
  let indexed = 0
  for (let name = 0; name < NAMES; name++) indexed += await store.count(byName, { name: `name ${name}` })
  expect(indexed).toBe(edits.size)
  const check = await runInside(['clean', '--check', '--json', '--shards', urls.join(',')])
  expect(check.json()).toMatchObject({ ok: true })
}, 120_000)
