import { parseId, type Driver, type Entity, type EntityId } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { expect } from 'vitest'
import { handOverOf } from './hand-over.ts'

export const byMail = defineIndex('by_mail', {
  properties: { mail: 'string' },
  shardOn: 'mail',
  unique: true,
})

/** One group of sealed buckets after the other. */
const groupsOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `${i * (2048 / count)}-${(i + 1) * (2048 / count) - 1}`)

/** The state that the last acknowledged write of each entity has left; undefined after a delete. */
type Written = Map<EntityId, Record<string, unknown> | undefined>

/** Calls of every kind that writes, on entities of its own, until the move has ended. Any failure rejects. */
async function write(store: DataStore, name: string, written: Written, isOver: () => boolean): Promise<void> {
  for (let i = 0; !isOver() || i < 5; i++) {
    const mail = `${name}-${i}@example.com`
    const { id } = await store.insert({ mail, count: 0 })
    written.set(id, { mail, count: 0 })
    await store.update(id, (bag) => ({ ...bag, count: (bag['count'] as number) + 1 }))
    written.set(id, { mail, count: 1 })
    const bags = Array.from({ length: 4 }, (_, n) => ({ id: store.newId(), mail: `${n}-${mail}` }))
    for (const put of await store.putMany(bags))
      written.set(put.id, { mail: bags.find((bag) => bag.id === put.id)!.mail })
    await store.delete(bags[0]!.id)
    written.set(bags[0]!.id, undefined)
    // Another entity takes the key of the deleted one.
    const next = await store.put({ mail: bags[0]!.mail }, { id: bags[1]!.id })
    written.set(next.id, { mail: bags[0]!.mail })
  }
}

/** Hands shard 0 over to shard 1 in groups while two processes write with eight callers, and checks what they wrote. */
export async function checkWritesDuringMove(
  driver: Driver,
  open: () => Promise<DataStore>,
  groups: number,
): Promise<void> {
  const stores = await Promise.all([open(), open()])
  const written: Written = new Map()
  let isOver = false
  const writers = Array.from({ length: 8 }, (_, i) =>
    write(stores[i % 2]!, `writer-${i}`, written, () => isOver),
  )
  const move = async (): Promise<void> => {
    const handOver = handOverOf(driver)
    await handOver.begin()
    for (const group of groupsOf(groups)) {
      do await handOver.seal(group)
      while (!(await handOver.giveUp(group)))
      await handOver.beginAtTarget(group)
    }
  }
  await Promise.all([move().finally(() => (isOver = true)), ...writers])
  for (const store of stores) await store.close()

  const fresh = await open()
  try {
    const ids = [...written.keys()]
    const found = await fresh.getMany(ids)
    const expected = ids.map((id) => {
      const bag = written.get(id)
      return bag && ({ id, ...bag } as Entity)
    })
    expect(found).toEqual(expected)
    const { placement } = fresh.context.catalog.current()
    expect(new Set(ids.map((id) => placement.shardOfId(parseId(id))))).toEqual(new Set([1]))
    for (const entity of expected.slice(0, 50)) {
      if (entity === undefined) continue
      expect((await fresh.query(byMail, { mail: entity['mail'] as string })).items).toEqual([entity])
    }
  } finally {
    await fresh.close()
  }
}
