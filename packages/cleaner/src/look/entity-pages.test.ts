import { randomBytes } from 'node:crypto'
import { formatId } from '@looseleaf/core'
import type { EntityPageRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { createThrottle } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { openStore } from '../../test/stores.ts'
import { createPass } from '../pass/pass.ts'
import { entityPages } from './entity-pages.ts'

const MiB = 1024 * 1024

test('pages have as many bodies as fit into 8 MiB, or one, and together yield every entity in order', async () => {
  const driver = await memoryShards(1).connect()
  /** Total bytes and number of the bodies of each answer. */
  const answers: { readonly bytes: number; readonly bodies: number }[] = []
  const [shard] = driver.shards
  const record = <Rows extends readonly (Pick<EntityPageRow, 'body'> | undefined)[]>(rows: Rows): Rows => {
    const lengths = rows.flatMap((row) => (row?.body ? [row.body.length] : []))
    answers.push({ bytes: lengths.reduce((sum, length) => sum + length, 0), bodies: lengths.length })
    return rows
  }
  const { entities } = shard!
  const watched: typeof entities = {
    ...entities,
    read: async (...args) => record(await entities.read(...args)),
    pageByAdded: async (...args) => record(await entities.pageByAdded(...args)),
  }
  const store = await openStore({ driver: { ...driver, shards: [{ ...shard!, entities: watched }] } })
  const sizes = [3, 3, 3, 0.01, 0.01, 7.5, 0.01, 0.01, 5, 4]
  const ids: string[] = []
  for (const size of sizes) ids.push((await store.put({ data: randomBytes(size * MiB) })).id)
  await store.delete(ids[3]!)
  answers.length = 0

  for (const pageSize of [4, 500]) {
    const pages: (readonly EntityPageRow[])[] = []
    for await (const page of entityPages(createPass(store.context, { pageSize }), 0, { upTo: Infinity }))
      pages.push(page)
    expect(pages.flat().map(({ id }) => formatId(id))).toEqual(ids)
    const bodies = pages.map((page) => page.map(({ body }) => body?.length ?? 0))
    expect(bodies.flat().map((length) => Math.round(length / MiB))).toEqual([3, 3, 3, 0, 0, 8, 0, 0, 5, 4])
    for (const page of bodies)
      if (page.length > 1) expect(page.reduce((sum, length) => sum + length, 0)).toBeLessThan(8 * MiB)
    // The pages hold as many as fit, not one each.
    expect(pages.length).toBeLessThan(sizes.length)
  }
  for (const { bytes, bodies } of answers) if (bodies > 1) expect(bytes).toBeLessThan(8 * MiB)
})

test('pages have at most 100 rows from the first one after a pause for calls', async () => {
  const store = await openStore({ driver: await memoryShards(1).connect() })
  await store.putMany(Array.from({ length: 700 }, (_, n) => ({ n })))
  let givesWay = false
  const throttle = { ...createThrottle(store.context.time, undefined), givesWay: () => givesWay }
  const pages = (): ReturnType<typeof entityPages> =>
    entityPages(createPass(store.context, {}, throttle), 0, { upTo: Infinity })
  const sizes: number[] = []
  for await (const page of pages()) {
    sizes.push(page.length)
    givesWay = true
  }
  expect(sizes).toEqual([500, 100, 100])
  expect((await Array.fromAsync(pages())).flat()).toHaveLength(700)
})
