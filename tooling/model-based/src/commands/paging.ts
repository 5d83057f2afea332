import type { Entity } from '@looseleaf/core'
import fc from 'fast-check'
import { canonical } from '../canonical.ts'
import type { Model, Pager } from '../model.ts'
import { haveSameRows, type Found } from '../oracle.ts'
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
  'next page',
  fc.record({ pager: fc.nat(5), limit: fc.integer({ min: 1, max: 4 }), wide: queryPlans }),
  async ({ pager: number, limit, wide }, model, world) => {
    const pager = model.pagers[number % Math.max(1, model.pagers.length)]
    // With nothing to go on with: something that has many pages.
    const request = requestOf(
      { ...wide, depth: 0, lower: undefined, upper: undefined, scatter: true },
      model.oracle,
    )
    await page(pager?.request ?? request, pager, limit, model, world)
  },
)

export const paging: readonly fc.Arbitrary<Command>[] = [begin, goOn, goOn, goOn, goOn]

/**
 * One page, with whatever was written since the one before. The oracle cannot say where exactly the cursor stands: it is
 * somewhere from the last entity that was given to before the one that was to follow. Only entities that were written
 * into this gap may be found or not; all others are certain.
 */
async function page(
  request: QueryRequest,
  pager: Pager | undefined,
  limit: number,
  model: Model,
  world: World,
): Promise<void> {
  const { index, where } = request
  const text = `${pager ? 'next' : 'first'} page of ${describeRequest(request)}, ${limit} at the most`
  await world.store.settled()
  let all: Found[]
  try {
    all = model.oracle.query(index, where, request)
    if (pager !== undefined && knownIndex(model, request) !== pager.index) throw gone
  } catch (error) {
    const expected = error === gone ? 'error BAD_CURSOR' : errorText(error)
    const options = { ...optionsOf(request), limit, ...(pager && { cursor: pager.cursor }) }
    const actual = await answerOf(() => world.store.query(index, where as never, options))
    if (pager !== undefined) model.pagers.splice(model.pagers.indexOf(pager), 1)
    return world.compare(text, actual, expected)
  }

  const options = { ...optionsOf(request), limit, ...(pager && { cursor: pager.cursor }) }
  const { items, cursor } = await world.store.query(index, where as never, options)
  world.note(text, `${canonical(items)}${cursor === undefined ? '' : ' and more'}`)
  for (const item of items) checkMeta(item, model, world)
  const problem = problemWith(request, pager, limit, items, cursor !== undefined, all)
  if (problem !== undefined) world.fail(`${text}: ${problem}`)

  const given = new Set([...(pager?.given ?? []), ...items.map(({ id }) => id)])
  if (pager !== undefined) model.pagers.splice(model.pagers.indexOf(pager), 1)
  if (cursor === undefined) return
  const at = all.findIndex(({ id }) => id === items.at(-1)!.id)
  model.pagers.push({
    request,
    index: knownIndex(model, request),
    cursor,
    last: all[at]!,
    next: all[at + 1]!,
    given,
  })
}

const gone = new Error('The generation that the cursor belongs to is gone.')

function knownIndex(model: Model, { index }: QueryRequest): unknown {
  return model.oracle.indexes.find(({ definition }) => haveSameRows(definition, index))
}

function problemWith(
  { order }: QueryRequest,
  pager: Pager | undefined,
  limit: number,
  items: readonly Entity[],
  hasCursor: boolean,
  all: readonly Found[],
): string | undefined {
  const sign = order === 'desc' ? -1 : 1
  const isBefore = (a: Place, b: Place): boolean => sign * comparePlaces(a, b) < 0
  let last = -1
  for (const item of items) {
    const at = all.findIndex(({ id }) => id === item.id)
    const found = all[at]
    if (found === undefined) return `${item.id} does not match`
    if (canonical(item) !== canonical({ ...found.bag, id: found.id }))
      return `${item.id} is not as it was written`
    if (at <= last) return `${item.id} is out of order or comes twice`
    if (pager && !isBefore(pager.last.place, found.place)) return `${item.id} belongs to an earlier page`
    if (pager?.given.has(item.id)) return `${item.id} was given before and not written since`
    last = at
  }
  const isFull = items.length === limit
  if (items.length > limit) return `there are ${items.length} of ${limit} at the most`
  if (hasCursor && !isFull) return `there are only ${items.length}, and a cursor`
  if (isFull && hasCursor !== last + 1 < all.length) return `the cursor is ${hasCursor ? '' : 'not '}there`
  const mustBeThere = all
    .slice(0, isFull ? last + 1 : all.length)
    .filter(({ place }) => pager === undefined || !isBefore(place, pager.next.place))
  const missed = mustBeThere.find(({ id }) => !items.some((item) => item.id === id))
  return missed && `${missed.id} is not found`
}
