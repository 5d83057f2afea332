import type { Entity } from '@looseleaf/core'
import type { IndexDefinition, QueryPage } from '@looseleaf/index-engine'
import fc from 'fast-check'
import { canonical } from '../canonical.ts'
import { baseIndexes, passingIndexes } from '../indexes.ts'
import type { GivenCondition, Oracle } from '../oracle.ts'
import { answerOf } from '../world.ts'
import { command, shorten, type Command } from './command.ts'
import { anyPick, valueOf, type Pick } from './query-request.ts'

/** Conditions that may be combined: an index, and the number of leading properties with a value. */
type Alike = readonly (readonly [index: IndexDefinition, given: number])[]

const named = (name: string): IndexDefinition => baseIndexes.find((index) => index.name === name)!

const groups: readonly Alike[] = [
  // Indexes with an integer after the values,
  [
    [named('by_tag'), 1],
    [named('by_inner'), 1],
    [named('composite'), 2],
    [named('by_integer'), 0],
  ],
  // with an array, in an index that comes and goes,
  [
    [named('by_flag_tag'), 1],
    [passingIndexes.find(({ name }) => name === 'more')!, 0],
  ],
  // with a descending or absent property,
  [[named('downward'), 1]],
  // with only the id.
  [
    [named('by_string'), 1],
    [named('by_times'), 1],
    [named('by_people'), 1],
    [named('by_tag'), 2],
    [named('by_lower'), 2],
    [named('by_tag_or_none'), 2],
    [named('by_flag_tag'), 2],
  ],
]

interface Plan {
  readonly group: number
  readonly members: readonly number[]
  /** Most values belong to one entity, so that the query finds something. */
  readonly pick: Pick
  readonly others: readonly Pick[]
  readonly ranges: readonly ('gte' | 'lt' | undefined)[]
}

const plans: fc.Arbitrary<Plan> = fc.record({
  group: fc.nat(groups.length - 1),
  members: fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }),
  pick: anyPick,
  others: fc.array(anyPick, { minLength: 4, maxLength: 4 }),
  ranges: fc.array(fc.constantFrom(undefined, undefined, 'gte', 'lt'), { minLength: 4, maxLength: 4 }),
})

function conditionsOf({ group, members, pick, others, ranges }: Plan, oracle: Oracle): GivenCondition[] {
  const alike = groups[group]!
  return members.map((member, at) => {
    const [index, given] = alike[member % alike.length]!
    const where: Record<string, unknown> = {}
    for (const [i, property] of index.properties.entries()) {
      const isOwn = others[at]!.number % 5 === 0
      const value = valueOf(isOwn ? others[at]! : pick, property, oracle, at)
      if (i < given)
        where[property.name] =
          property.nulls !== undefined && others[at]!.number % 7 === 0
            ? null
            : others[at]!.number % 6 === 1
              ? { in: [value, valueOf(others[at]!, property, oracle, at)] }
              : value
      else if (ranges[at] !== undefined) where[property.name] = { [ranges[at]]: value }
      if (i >= given) break
    }
    return { index, where, given }
  })
}

/** Reads all pages forward, then all backward from the last one. */
const intersection = command(
  'intersection',
  fc.record({
    plan: plans,
    order: fc.constantFrom(undefined, 'asc' as const, 'desc' as const),
    scatter: fc.constantFrom(true, true, true, true, undefined),
    limit: fc.integer({ min: 1, max: 4 }),
  }),
  async ({ plan, order, scatter, limit }, model, world) => {
    const conditions = conditionsOf(plan, model.oracle)
    const asked = conditions.map(({ index, where }) => `${index.name} ${shorten(canonical(where))}`)
    const text = `intersection of ${asked.join(' and ')} ${order ?? ''}${scatter ? ' scatter' : ''}`
    const options = { limit, ...(order && { order }), ...(scatter && { scatter }) }
    const read = async (cursor?: string): Promise<Page> => {
      const given = conditions.map(({ index, where }) => ({
        index: index as IndexDefinition,
        where: where as never,
      }))
      const page = await world.store.intersect(given, { ...options, ...(cursor !== undefined && { cursor }) })
      if (!page.cost.complete) world.fail(`${text} cost ${canonical(page.cost)}`)
      return page
    }
    const actual = await answerOf(async () => {
      const there = [await read()]
      for (let cursor; (cursor = there.at(-1)!.cursor) !== undefined;) there.push(await read(cursor))
      const pages = [there.at(-1)!]
      for (let cursor; (cursor = pages[0]!.previous) !== undefined;) pages.unshift(await read(cursor))
      return [there, pages].map((all) => all.flatMap(({ items }) => items))
    })
    const expected = await answerOf(() => {
      const all = model.oracle.intersect(conditions, options).map(({ id, bag }) => ({ ...bag, id }))
      return [all, all]
    })
    world.compare(text, actual, expected)
  },
)

type Page = Omit<QueryPage, 'items'> & { readonly items: readonly Entity[] }

export const intersections: readonly fc.Arbitrary<Command>[] = [intersection, intersection]
