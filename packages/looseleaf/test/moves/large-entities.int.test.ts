import { randomBytes } from 'node:crypto'
import { sweep } from '@looseleaf/cleaner'
import { formatId, parseId, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { moveBuckets } from '@looseleaf/mover/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { expect, test } from 'vitest'
import { byUser, checkIndexes, indexes, itemOf, rowsAt, SOME_BUCKETS, type Item } from './stores.ts'

/** Nearly the codec's limit of a body. */
const LARGE = 8 * 1024 * 1024 - 1024

test('entities of 8 MiB, and ids and keys that end with zero bytes, move between two servers while they are replaced', async () => {
  const { urls } = await freshShards(2)
  const driver = await mysqlShards(urls).connect()
  const open = (faults: Parameters<typeof faultyDriver>[1] = () => undefined): Promise<DataStore> =>
    DataStore.open({
      shards: keepOpen(faultyDriver(driver, faults)),
      indexes,
      migrate: true,
      time: leapingTime(),
      onWarning: () => {},
    })
  const writer = await open()
  const isIn = entitiesIn(writer.context, SOME_BUCKETS)
  const states = new Map<EntityId, Item & { readonly bytes: Buffer }>()

  /** Puts an entity in a moving bucket, whose random bytes no codec compresses. */
  async function put(number: number, id: EntityId, bytes: number): Promise<void> {
    const name = `name ${number}\0\0`
    const item = { ...itemOf(number), user: `user ${number % 3}\0`, name, bytes: randomBytes(bytes) }
    await writer.put(item, { id })
    states.set(id, item)
  }

  const large = Array.from({ length: 4 }, () => movingId(0))
  const ids = [...large, ...[1, 2, 4, 6].map(movingId)]
  for (const [i, id] of ids.entries()) await put(i, id, i < large.length ? LARGE : 100)
  let sealed = 0
  const mover = await open(({ operation, args: [catalog] }) => {
    const { serves } = (operation === 'change' ? catalog : {}) as Partial<ShardCatalog>
    if (serves?.leaving?.[0]?.sealed === undefined || sealed++ > 0) return undefined
    // The last copies under the first seal are large then.
    return { before: () => put(100, large[0]!, LARGE) }
  })
  const report = await moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS })
  expect(report).toMatchObject({ state: 'done', handedOver: 1_024 })
  expect(sealed).toBeGreaterThan(0)

  const fresh = await open()
  for (const [id, { bytes, ...item }] of states) {
    const found = await fresh.get(id)
    expect({ ...found, bytes: undefined }).toMatchObject(item)
    // A matcher compares some millions of bytes in minutes.
    expect(bytes.equals(found!['bytes'] as Uint8Array)).toBe(true)
  }
  expect(await fresh.count(byUser, { user: 'user 1\0' })).toBe(
    [...states.values()].filter(({ user }) => user === 'user 1\0').length,
  )
  await sweep(fresh, { graceMs: 0 })
  expect(await rowsAt(fresh, 0, SOME_BUCKETS)).toBe(0)
  await checkIndexes(fresh)
  for (const store of [writer, mover, fresh]) await store.close()
  await driver.close()

  /** Returns an id whose last bytes are zero. */
  function movingId(zeros: number): EntityId {
    for (;;) {
      const bytes = Buffer.from(parseId(writer.newId())).fill(0, 16 - zeros)
      if (isIn(bytes)) return formatId(bytes)
    }
  }
}, 120_000)
