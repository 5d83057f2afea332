import { LooseleafError, parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  addRow,
  byTag,
  byUser,
  entryOf,
  expectedRows,
  openStore,
  removeRow,
  rowFor,
  rowsIn,
  tableOf,
} from '../../test/stores.ts'
import { leapingTime } from '../../test/times.ts'
import type { TargetRow } from '../look/dangling-among.ts'
import { indexTarget, type IndexTarget } from '../pass/index-target.ts'
import type { Problem } from '../pass/pass-options.ts'
import { countRemoved, createRepairPass, type RepairPass } from '../repair/repair-pass.ts'
import { sweepEntityPage } from './sweep-entities.ts'
import { gatherRows, sweepIndexRows } from './sweep-index.ts'

const ada = { user_id: 'ada', published: 1, tags: ['x', 'y'] }

let store: DataStore
let pass: RepairPass
let problems: Problem[]
let targets: IndexTarget[]
/** What is sent, with how many ids or rows. */
let sent: string[]
let before: (operation: string) => unknown

beforeEach(async () => {
  sent = []
  problems = []
  before = () => undefined
  const driver = faultyDriver(await memoryShards(2).connect(), ({ operation, args }) => ({
    async before() {
      const counted = operation === 'rowsOf' ? args[1] : args[0]
      sent.push(Array.isArray(counted) ? `${operation} ${counted.length}` : operation)
      await before(operation)
    },
  }))
  store = await openStore({ driver, time: leapingTime() })
  pass = createRepairPass(store.context, { onProblem: (problem) => problems.push(problem) })
  targets = [byUser, byTag].map(({ name }) => indexTarget(store.context, entryOf(store, name)))
})

/** How often this was sent, with whatever. */
const count = (operation: string): number => sent.filter((each) => each.split(' ')[0] === operation).length

async function settle(): Promise<void> {
  countRemoved(pass, await pass.removals.settle(undefined))
}

describe('gathered rows', () => {
  it('are many when there are 16 pages of them, and are taken once', () => {
    const rows = gatherRows({ ...pass, maxPage: 2 })
    const row = { key: [], entityId: Buffer.alloc(16), version: 1 }
    rows.add(
      targets[0]!,
      Array.from({ length: 31 }, () => row),
    )
    expect(rows.areMany).toBe(false)
    rows.add(targets[1]!, [row])
    expect(rows.areMany).toBe(true)
    const taken = rows.take()
    expect(taken).toHaveLength(32)
    expect([taken[0]!.target, taken[31]!.target]).toEqual(targets)
    expect(rows.areMany).toBe(false)
    expect(rows.take()).toEqual([])
  })

  it('are held against their entities, a hundred at once, each read once', async () => {
    const all: TargetRow[] = []
    for (let i = 0; i < 101; i++) {
      const id = store.newId()
      for (const tag of ['x', 'y'])
        all.push({ target: targets[1]!, row: rowFor(store, 'by_tag', id, { tags: [tag] }, 1).row })
    }
    sent.length = 0
    await sweepIndexRows({ ...pass, leaves: () => true }, 0, all)
    const read = sent.filter((each) => each.startsWith('readBounded'))
    // Once before and once after their rows are deleted.
    expect(read.reduce((sum, each) => sum + Number(each.split(' ')[1]), 0)).toBe(2 * 101)
    // On two shards.
    expect(read).toHaveLength(2 * 3)
    expect(pass.tally).toMatchObject({ rows: 202, entities: 0 })
  })

  it('that are misplaced are counted, and right afterwards, with nothing else looked at', async () => {
    const { id, version } = await store.put(ada)
    const right = rowFor(store, 'by_user', id, ada, version)
    await removeRow(store, 'by_user', right)
    await addRow(store, 'by_user', { shard: 1 - right.shard, row: right.row })
    await sweepIndexRows(pass, 1 - right.shard, [{ target: targets[0]!, row: right.row }])
    await settle()
    expect(pass.tally).toMatchObject({ misplaced: 1, added: 1, removed: 1, rows: 1, entities: 0 })
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  })

  it('that are misplaced stay when they cannot be added where they belong', async () => {
    const { id, version } = await store.put(ada)
    const right = rowFor(store, 'by_user', id, ada, version)
    await removeRow(store, 'by_user', right)
    await addRow(store, 'by_user', { shard: 1 - right.shard, row: right.row })
    before = async (operation) => {
      if (operation === 'upsert') throw new LooseleafError('SHARD_UNAVAILABLE', 'Down, on purpose.')
    }
    const rows = [{ target: targets[0]!, row: right.row }]
    await expect(sweepIndexRows(pass, 1 - right.shard, rows)).rejects.toThrow('on purpose')
    await settle()
    expect(await rowsIn(store, 'by_user')).toHaveLength(1)
  })

  it('that are right stay as they are', async () => {
    const { id, version } = await store.put(ada)
    const { shard, row } = rowFor(store, 'by_user', id, ada, version)
    sent.length = 0
    await sweepIndexRows(pass, shard, [{ target: targets[0]!, row }])
    expect(new Set(sent.map((each) => each.split(' ')[0]))).toEqual(new Set(['readBounded']))
    expect(pass.removals.isEmpty).toBe(true)
  })

  it('of an index that is filled are held against versions, and no body is read of those that have theirs', async () => {
    const { id, version } = await store.put(ada)
    const { shard, row } = rowFor(store, 'by_user', id, ada, version)
    sent.length = 0
    await sweepIndexRows(pass, shard, [{ target: targets[0]!, row }], () => true)
    expect(sent).toEqual(['readVersions 1'])
    expect(pass.tally).toMatchObject({ rows: 1, entities: 0 })
    expect(pass.removals.isEmpty).toBe(true)
  })

  it('of an index that is filled and have another version, or another shard, are looked at like any other', async () => {
    const { id } = await store.put({ ...ada, user_id: 'eve' })
    const { version } = await store.put(ada, { id })
    const right = rowFor(store, 'by_user', id, ada, version)
    const lost = rowFor(store, 'by_user', id, { ...ada, published: 2 }, version - 1)
    const gone = rowFor(store, 'by_user', store.newId(), ada, 1)
    await removeRow(store, 'by_user', right)
    await addRow(store, 'by_user', { shard: 1 - right.shard, row: right.row })
    for (const each of [lost, gone]) await addRow(store, 'by_user', each)
    const target = targets[0]!
    await sweepIndexRows(pass, 1 - right.shard, [{ target, row: right.row }], () => true)
    for (const { shard, row } of [lost, gone])
      await sweepIndexRows(pass, shard, [{ target, row }], () => true)
    await settle()
    expect(pass.tally).toMatchObject({ misplaced: 1, added: 1, rows: 3 })
    expect(await rowsIn(store, 'by_user')).toEqual(await expectedRows(store, 'by_user'))
  })

  it('that are dangling go without a second look at their entities', async () => {
    const { id, version } = await store.put(ada)
    const dangling = rowFor(store, 'by_user', id, { ...ada, user_id: 'eve' }, version)
    await addRow(store, 'by_user', dangling)
    sent.length = 0
    await sweepIndexRows(pass, dangling.shard, [{ target: targets[0]!, row: dangling.row }])
    expect(count('readBounded')).toBe(1)
    expect(count('rowsOf')).toBe(0)
    await settle()
    expect(pass.tally).toMatchObject({ misplaced: 0, removed: 1 })
  })

  it('stay where the body of their entity cannot be read, which is not told here', async () => {
    const { id, version } = await store.put(ada)
    const decode = (): never => {
      throw new LooseleafError('BODY_DAMAGED', 'Damaged.')
    }
    const context = { ...store.context, codec: { ...store.context.codec, decode } }
    const dangling = rowFor(store, 'by_user', id, { ...ada, user_id: 'eve' }, version)
    await addRow(store, 'by_user', dangling)
    await sweepIndexRows({ ...pass, context }, dangling.shard, [{ target: targets[0]!, row: dangling.row }])
    await settle()
    expect(await rowsIn(store, 'by_user')).toHaveLength(2)
    expect(problems).toEqual([])
    expect(pass.tally).toMatchObject({ rows: 1, undecodable: 0 })
  })
})

describe('a page of entities', () => {
  /** The page of a shard, as read now. */
  async function pageOf(id: string) {
    const shard = store.context.driver.shards[store.context.router.shardOfId(parseId(id))]!
    const page = (await shard.entities.read([parseId(id)])).filter((row) => row !== undefined)
    sent.length = 0
    return page
  }

  it('of which nothing is missing is looked up, and no more', async () => {
    const { id } = await store.put(ada)
    await sweepEntityPage(pass, targets, await pageOf(id), { fill: () => false })
    expect(new Set(sent.map((each) => each.split(' ')[0]))).toEqual(new Set(['rowsOf']))
    expect(pass.tally).toMatchObject({ entities: 1, added: 0 })
  })

  it('does not count tombstones here, nor writes them, yet holds them against the disk', async () => {
    const { id } = await store.put(ada)
    await store.delete(id)
    await store.settled()
    await sweepEntityPage(pass, targets, await pageOf(id), { fill: () => true })
    expect(sent.map((each) => each.split(' ')[0])).toEqual(['flush', 'readVersions'])
    expect(pass.tally).toMatchObject({ entities: 0, added: 0 })
  })

  it('is written without a look where an index is filled, and looked up in the others', async () => {
    const { id } = await store.put(ada)
    const [user, tag] = targets
    await sweepEntityPage(pass, targets, await pageOf(id), { fill: (target) => target === tag })
    expect(pass.tally).toMatchObject({ entities: 1, added: 2 })
    expect([count('rowsOf'), count('flush')]).toEqual([1, 1])
    await sweepEntityPage(pass, [tag!], await pageOf(id), { fill: () => true })
    expect(count('rowsOf')).toBe(0)
    await sweepEntityPage(pass, [user!], await pageOf(id), { fill: () => false })
    expect([count('upsert'), count('flush')]).toEqual([0, 0])
  })

  it('has an entity that moves before the flush looked at anew, at most four times, and put right', async () => {
    const { id } = await store.put({ tags: ['0'] })
    const page = await pageOf(id)
    const tags = ['0']
    let isMine = false
    before = async (operation) => {
      if (operation !== 'flush' || isMine) return
      isMine = true
      tags.push(`${tags.length}`)
      await store.put({ tags: [...tags] }, { id })
      isMine = false
    }
    const filled = targets.slice(1)
    await sweepEntityPage(pass, filled, page, { fill: () => true })
    expect(tags).toHaveLength(1 + 5)
    expect(await rowsIn(store, 'by_tag')).toEqual(await expectedRows(store, 'by_tag'))
    expect(pass.tally).toMatchObject({ entities: 1, removed: 0 })
  })

  it('has every row written of an entity that has moved, before it is held against the disk again', async () => {
    const { id } = await store.put({ tags: ['0'] })
    const page = await pageOf(id)
    const placed = rowFor(store, 'by_tag', id, { tags: ['1'] }, 1)
    let moved = 0
    before = async (operation) => {
      if (operation === 'upsert' && moved > 0) {
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
        sent.push('written')
      }
      if (operation !== 'flush' || moved > 0) return
      const { version } = await store.put({ tags: ['1'] }, { id })
      await store.settled()
      // Its row is there, of an earlier time, as one is that its writer is about to delete.
      await removeRow(store, 'by_tag', placed)
      await addRow(store, 'by_tag', placed)
      moved = version
    }
    await sweepEntityPage(pass, targets.slice(1), page, { fill: () => true })
    const rows = await tableOf(store, 'by_tag', placed.shard).scan({ prefix: [], order: 'asc', limit: 9 })
    expect(rows).toMatchObject([{ version: moved }])
    expect(sent.indexOf('written')).toBeLessThan(sent.lastIndexOf('flush'))
  })

  it('has a row deleted again that an entity has lost before it was written here', async () => {
    const { id } = await store.put({ tags: ['0'] })
    const page = await pageOf(id)
    let moves = 0
    before = async (operation) => {
      const isNext = moves === 0 ? operation === 'flush' : moves === 1 && operation === 'upsert'
      if (!isNext) return
      moves++
      const now = moves
      // Its own writes are not to count.
      moves = 9
      await store.put({ tags: [`${now}`] }, { id })
      await store.settled()
      moves = now
    }
    await sweepEntityPage(pass, targets.slice(1), page, { fill: () => true })
    expect(moves).toBe(2)
    expect(pass.removals.isEmpty).toBe(false)
    await settle()
    expect(await rowsIn(store, 'by_tag')).toEqual(await expectedRows(store, 'by_tag'))
  })

  it('has an entity that moves while its row is added put right in both directions', async () => {
    const { id } = await store.put({ tags: ['0'] })
    await removeRow(store, 'by_tag', rowFor(store, 'by_tag', id, { tags: ['0'] }, 0))
    const page = await pageOf(id)
    let isFirst = true
    before = async (operation) => {
      if (operation !== 'upsert' || !isFirst) return
      isFirst = false
      await store.put({ tags: ['1'] }, { id })
      await store.settled()
    }
    await sweepEntityPage(pass, targets, page, { fill: () => false })
    expect(pass.tally).toMatchObject({ entities: 1, added: 1 })
    await settle()
    expect(pass.tally).toMatchObject({ removed: 1 })
    expect(await rowsIn(store, 'by_tag')).toEqual(await expectedRows(store, 'by_tag'))
  })
})
