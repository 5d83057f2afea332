import { metaOf, type Bag, type Entity, type IndexDefinitionData } from '@looseleaf/core'
import { entriesOf } from '@looseleaf/index-engine/internal'
import fc from 'fast-check'
import { canonical } from '../canonical.ts'
import type { Model } from '../model.ts'
import { valueOf } from '../oracle-rows.ts'
import { answerOf, type World } from '../world.ts'
import { command, type Command } from './command.ts'
import { describeRequest, listPlans, optionsOf, queryPlans, requestOf } from './query-request.ts'

const get = command('get', fc.nat(12), async (slot, model, world, text) => {
  const id = model.idAt(slot)
  const entity = await world.store.get(id)
  checkMeta(entity, model, world)
  world.compare(text, canonical(entity), canonical(expectedEntity(model, id)))
})

const getMany = command(
  'getMany',
  fc.array(fc.nat(12), { maxLength: 8 }),
  async (slots, model, world, text) => {
    const ids = slots.map((slot) => model.idAt(slot))
    const entities = await world.store.getMany(ids)
    for (const entity of entities) checkMeta(entity, model, world)
    world.compare(text, canonical(entities), canonical(ids.map((id) => expectedEntity(model, id))))
  },
)

const query = command(
  'query',
  fc.record({
    plan: queryPlans,
    limit: fc.constantFrom(1, 2, 5, 1000, undefined),
    settled: fc.boolean(),
  }),
  async ({ plan, limit, settled }, model, world) => {
    const request = requestOf(plan, model.oracle)
    const text = `query ${describeRequest(request)}, ${limit} at the most`
    const { index, where } = request
    // A query never waits for the deletion of lost rows, so its answer must be the same with them.
    if (settled) await world.store.settled()
    const options = { ...optionsOf(request), ...(limit !== undefined && { limit }) }
    const actual = await answerOf(async () => {
      const { items, cursor, cost } = await world.store.query(index, where as never, options)
      for (const item of items) checkMeta(item, model, world)
      if (!cost.complete || cost.rowsExamined !== cost.rowsMatched + cost.rowsDiscarded) {
        world.fail(`${text} cost ${canonical(cost)}`)
      }
      return { items, more: cursor !== undefined }
    })
    const expected = await answerOf(() => {
      const all = model.oracle.query(index, where, request)
      return {
        items: all.slice(0, limit ?? 50).map(({ id, bag }) => ({ ...bag, id })),
        more: all.length > (limit ?? 50),
      }
    })
    world.compare(text, actual, expected)
  },
)

const queryMany = command(
  'queryMany',
  fc.record({
    plan: queryPlans,
    others: fc.array(queryPlans, { maxLength: 4 }),
    limit: fc.constantFrom(1, 2, 5, 1000),
  }),
  async ({ plan: first, others, limit }, model, world) => {
    const { index: number, order, scatter } = first
    const plans = [first, ...others.map((plan) => ({ ...plan, index: number, order, scatter }))]
    const requests = plans.map((plan) => requestOf(plan, model.oracle))
    const text = `queryMany ${requests.map(describeRequest).join('; ')}, ${limit} at the most`
    const { index } = requests[0]!
    const wheres = requests.map(({ where }) => where)
    const actual = await answerOf(async () => {
      const options = { ...optionsOf(requests[0]!), limit, count: true } as const
      const pages = await world.store.queryMany(index, wheres as never, options)
      // Settled: lost rows are deleted.
      await world.store.settled()
      const rows = await world.store.countMany(index, wheres as never, { scatter, exact: false })
      return pages.map(({ items, cursor, count }, i) => ({
        items,
        more: cursor !== undefined,
        count,
        rows: rows[i],
      }))
    })
    const expected = await answerOf(() =>
      requests.map((request) => {
        const all = model.oracle.query(index, request.where, request)
        const items = all.slice(0, limit).map(({ id, bag }) => ({ ...bag, id }))
        return { items, more: all.length > limit, count: all.length, rows: all.length }
      }),
    )
    world.compare(text, actual, expected)
  },
)

const list = command(
  'list',
  fc.record({ plan: listPlans, limit: fc.constantFrom(1, 2, 5, 1000), verify: fc.boolean() }),
  async ({ plan, limit, verify }, model, world) => {
    const request = requestOf(plan, model.oracle)
    const text = `list ${describeRequest(request)}, ${limit} at the most${verify ? '' : ', believed'}`
    const { index, where } = request
    // Without verification, a lost row that is not yet deleted would count.
    if (!verify) await world.store.settled()
    const options = { ...optionsOf(request), limit, verify }
    const actual = await answerOf(async () => {
      const { items, cursor } = await world.store.list(index, where as never, options)
      return { items, more: cursor !== undefined }
    })
    const expected = await answerOf(() => {
      const all = model.oracle.query(index, where, request)
      const items = all.slice(0, limit).map(({ id, bag }) => ({ ...partOf(index, bag), id }))
      return { items, more: all.length > limit }
    })
    world.compare(text, actual, expected)
  },
)

/** Returns the part of a bag that rows of the index hold. */
function partOf({ properties, include = [], on = {} }: IndexDefinitionData, bag: Bag): Bag {
  const paths = [...properties.map(({ name, of }) => of ?? name), ...include, ...Object.keys(on)]
  const held = paths.map((path) => [path, valueOf(bag, path)] as const)
  return Object.fromEntries(held.filter(([, value]) => value !== undefined)) as Bag
}

const getAll = command('getAll', queryPlans, async (plan, model, world) => {
  const request = requestOf(plan, model.oracle)
  const text = `getAll ${describeRequest(request)}`
  const actual = await answerOf(() =>
    request.index.getAll(world.store, request.where as never, optionsOf(request)),
  )
  const expected = await answerOf(() =>
    model.oracle.query(request.index, request.where, request).map(({ id, bag }) => ({ ...bag, id })),
  )
  world.compare(text, actual, expected)
})

const count = command(
  'count',
  fc.record({ plan: queryPlans, exact: fc.boolean() }),
  async ({ plan, exact }, model, world) => {
    const request = requestOf(plan, model.oracle)
    const text = `count ${describeRequest(request)}${exact ? ' exactly' : ''}`
    // A plain count is exact when nothing is in flight.
    if (!exact) await world.store.settled()
    const { scatter } = optionsOf(request)
    const actual = await answerOf(() =>
      world.store.count(request.index, request.where as never, {
        ...(scatter !== undefined && { scatter }),
        exact,
      }),
    )
    const expected = await answerOf(
      () => model.oracle.query(request.index, request.where, { scatter: request.scatter }).length,
    )
    world.compare(text, actual, expected)
  },
)

const scan = command('scan', fc.constant(null), async (_, model, world, text) => {
  const entities = await Array.fromAsync(world.store.scan())
  for (const entity of entities) checkMeta(entity, model, world)
  const expected = [...model.oracle.entities.keys()].map((id) => expectedEntity(model, id))
  world.compare(text, entities.map(canonical).toSorted().join(), expected.map(canonical).toSorted().join())
})

const status = command('status', fc.constant(null), async (_, model, world, text) => {
  const { shards, indexes } = await world.store.status()
  const actual = {
    entities: shards.reduce((sum, { entities = 0 }) => sum + entities, 0),
    indexes: indexes.map(nameAndState),
  }
  const expected = {
    entities: model.oracle.entities.size,
    // A unique index has claims beside its rows.
    indexes: model.oracle.indexes.flatMap(({ definition, state }) =>
      entriesOf(definition).map(({ name }) => nameAndState({ name, state })),
    ),
  }
  actual.indexes.sort()
  expected.indexes.sort()
  world.compare(text, canonical(actual), canonical(expected))
})

export const reads: readonly fc.Arbitrary<Command>[] = [
  get,
  getMany,
  ...Array.from({ length: 8 }, () => query),
  queryMany,
  list,
  getAll,
  count,
  count,
  count,
  scan,
  status,
]

export function expectedEntity(model: Model, id: string): Bag | undefined {
  const bag = model.oracle.entities.get(id.toLowerCase())
  return bag && { ...bag, id: id.toLowerCase() }
}

/** Checks that an entity has the version of its last acknowledged write. */
export function checkMeta(entity: Entity | undefined, model: Model, world: World): void {
  if (entity === undefined) return
  const version = metaOf(entity)?.version
  if (version !== model.versionOf(entity.id)) {
    world.fail(
      `${entity.id} was read at version ${version} and last written as ${model.versionOf(entity.id)}`,
    )
  }
}

function nameAndState({ name, state }: { name: string; state: string }): string {
  return `${name} ${state}`
}
