import type { Entity } from '@looseleaf/core'
import type { QueryPage } from '@looseleaf/index-engine'
import fc from 'fast-check'
import { canonical } from '../canonical.ts'
import type { Cut, Model, Pager } from '../model.ts'
import { haveSameRows, type FoundEntity } from '../oracle.ts'
import { comparePlaces, type Place } from '../oracle-rows.ts'
import { answerOf, errorText, type World } from '../world.ts'
import { command, type Command } from './command.ts'
import { describeRequest, optionsOf, queryPlans, requestOf, type QueryRequest } from './query-request.ts'
import { checkMeta } from './reads.ts'

const begin = command(
  'first page',
  fc.record({ plan: queryPlans, limit: fc.integer({ min: 1, max: 4 }) }),
  ({ plan, limit }, model, world) => page(requestOf(plan, model.oracle), undefined, limit, model, world),
)

const goOn = command(
  'turned page',
  fc.record({ pager: fc.nat(5), limit: fc.integer({ min: 1, max: 4 }), wide: queryPlans }),
  async ({ pager: number, limit, wide }, model, world) => {
    const pager = model.pagers[number % Math.max(1, model.pagers.length)]
    // Without a page to continue from: starts a query with many pages.
    const request = requestOf(
      { ...wide, depth: 0, lower: undefined, upper: undefined, scatter: true },
      model.oracle,
    )
    await page(pager?.request ?? request, pager, limit, model, world)
  },
)

const thereAndBack = command(
  'there and back',
  fc.record({
    plan: queryPlans,
    limit: fc.integer({ min: 1, max: 5 }),
    back: fc.integer({ min: 1, max: 5 }),
  }),
  async ({ plan, limit, back }, model, world, text) => {
    const request = requestOf(plan, model.oracle)
    const { index, where } = request
    const answer = await answerOf(async () => {
      const read = (size: number, cursor?: string): Promise<QueryPage> =>
        world.store.query(index, where as never, {
          ...optionsOf(request),
          limit: size,
          ...(cursor !== undefined && { cursor }),
        })
      const there = [await read(limit)]
      for (let cursor; (cursor = there.at(-1)!.cursor) !== undefined;) there.push(await read(limit, cursor))
      const last = there.at(-1)!
      const pages = [last]
      for (let cursor; (cursor = pages[0]!.previous) !== undefined;) pages.unshift(await read(back, cursor))
      return [there, pages].map((all) => all.flatMap(({ items }) => items))
    })
    const expected = await answerOf(() => {
      const all = model.oracle.query(index, where, request).map(({ id, bag }) => ({ ...bag, id }))
      return [all, all]
    })
    world.compare(`${text}: ${describeRequest(request)}`, answer, expected)
  },
)

export const paging: readonly fc.Arbitrary<Command>[] = [begin, goOn, goOn, goOn, goOn, goOn, thereAndBack]

/**
 * Reads one page, after any writes since the page before.
 *
 * The oracle cannot know exactly where a cursor points: somewhere between two formerly adjacent entities.
 * Only entities that were written into this gap may be found or not; all others are certain.
 */
async function page(
  request: QueryRequest,
  pager: Pager | undefined,
  limit: number,
  model: Model,
  world: World,
): Promise<void> {
  const { index, where } = request
  const way = pager?.way ?? 'cursor'
  const text = `${pager ? pager.way : 'first'} page of ${describeRequest(request)}, ${limit} at the most`
  const options = { ...optionsOf(request), limit, ...(pager && { cursor: pager.cursor }) }
  await world.store.settled()
  if (pager !== undefined) model.pagers.splice(model.pagers.indexOf(pager), 1)
  const known = model.oracle.indexes.find(({ definition }) => haveSameRows(definition, index))
  let all: FoundEntity[]
  try {
    all = model.oracle.query(index, where, request)
    if (pager !== undefined && known !== pager.index) throw gone
  } catch (error) {
    const expected = error === gone ? 'error BAD_CURSOR' : errorText(error)
    const actual = await answerOf(() => world.store.query(index, where as never, options))
    return world.compare(text, actual, expected)
  }

  const { items, cursor, previous } = await world.store.query(index, where as never, options)
  const hasMore = { cursor: cursor !== undefined, previous: previous !== undefined }
  world.note(text, `${canonical(items)} ${canonical(hasMore)}`)
  for (const item of items) checkMeta(item, model, world)
  const inOrder = way === 'cursor' ? all : all.toReversed()
  const read = way === 'cursor' ? items : items.toReversed()
  const problem =
    hasMore[turned(way)] === (pager === undefined)
      ? `the way back is ${pager ? 'not ' : ''}there`
      : problemWith(request, pager, limit, read, hasMore[way], inOrder)
  if (problem !== undefined) world.fail(`${text}: ${problem}`)

  const cursors = { cursor, previous }
  const turn = (to: Pager['way'], cut: Cut | undefined): void => {
    const from = cursors[to]
    if (from !== undefined && cut !== undefined)
      model.turnFrom({ request, index: known, cursor: from, way: to, cut })
  }
  turn(turned(way), pager?.cut)
  const at = inOrder.findIndex(({ id }) => id === read.at(-1)?.id)
  const [end, other] = [inOrder[at], inOrder[at + 1]]
  if (end === undefined || other === undefined) return
  turn(way, way === 'cursor' ? { before: end, behind: other } : { before: other, behind: end })
}

const gone = new Error('The generation that the cursor belongs to is gone.')

const turned = (way: Pager['way']): Pager['way'] => (way === 'cursor' ? 'previous' : 'cursor')

/** Compares a page with the oracle, in reading order. */
function problemWith(
  { order }: QueryRequest,
  pager: Pager | undefined,
  limit: number,
  items: readonly Entity[],
  hasMore: boolean,
  all: readonly FoundEntity[],
): string | undefined {
  const sign = (order === 'desc' ? -1 : 1) * (pager?.way === 'previous' ? -1 : 1)
  const isBefore = (a: Place, b: Place): boolean => sign * comparePlaces(a, b) < 0
  const [passed, ahead] =
    pager?.way === 'previous' ? [pager.cut.behind, pager.cut.before] : [pager?.cut.before, pager?.cut.behind]
  let last = -1
  for (const item of items) {
    const at = all.findIndex(({ id }) => id === item.id)
    const found = all[at]
    if (found === undefined) return `${item.id} does not match`
    if (canonical(item) !== canonical({ ...found.bag, id: found.id }))
      return `${item.id} is not as it was written`
    if (at <= last) return `${item.id} is out of order or comes twice`
    if (passed && !isBefore(passed.place, found.place)) return `${item.id} belongs to another page`
    last = at
  }
  const isFull = items.length === limit
  if (items.length > limit) return `there are ${items.length} of ${limit} at the most`
  if (hasMore && !isFull) return `there are only ${items.length}, and a cursor`
  if (isFull && hasMore !== last + 1 < all.length) return `the cursor is ${hasMore ? '' : 'not '}there`
  const mustBeThere = all
    .slice(0, isFull ? last + 1 : all.length)
    .filter(({ place }) => ahead === undefined || !isBefore(place, ahead.place))
  const missed = mustBeThere.find(({ id }) => !items.some((item) => item.id === id))
  return missed && `${missed.id} is not found`
}
