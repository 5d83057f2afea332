import { metaOf } from '@looseleaf/core'
import type { Act, ClientOptions } from './client.ts'
import type { Bound } from '../history/evidence.ts'
import { anyQuestion, anyQuestionForMoved, type Question } from './searches.ts'

/** Staleness bounds in milliseconds. Replicas seldom meet the first ones. */
const BOUNDS_MS = [0, 200, 400, 400, 1000, 1000, 10_000]
/** Number of recent tokens that are kept. */
const LAST_TOKENS = 10

interface Asked {
  readonly options: { readonly from: 'replica'; readonly maxStalenessMs: number; readonly after?: string }
  readonly bound: Bound
}

/** Chooses the options of a read, often with a token: a new one, an older one, or one of another process. */
function ask({ store, random, history, replicas }: ClientOptions): Asked {
  const tokens = replicas?.tokens ?? []
  const maxStalenessMs = random.pick(BOUNDS_MS)
  const chosen = random.next()
  if (chosen < 0.3) tokens.push({ token: store.sessionToken(), moment: history.moment() })
  if (tokens.length > LAST_TOKENS) tokens.shift()
  const known =
    chosen < 0.3 ? tokens.at(-1) : chosen < 0.5 && tokens.length > 0 ? random.pick(tokens) : undefined
  return {
    options: { from: 'replica', maxStalenessMs, ...(known && { after: known.token }) },
    bound: { ms: maxStalenessMs, after: known?.moment },
  }
}

function questionOf({ random, clients }: ClientOptions): Question {
  return clients === 'rows' ? anyQuestionForMoved(random) : anyQuestion(random)
}

const get: Act = async (options, operation) => {
  const { store, random, history, ids } = options
  const request = ask(options)
  const id = random.pick(ids)
  const entity = await store.get(id, request.options)
  history.readReplica(operation, id, entity && metaOf(entity)?.version, entity, request.bound)
}

const getMany: Act = async (options, operation) => {
  const { store, history, ids } = options
  const request = ask(options)
  const entities = await store.getMany(ids, request.options)
  for (const [i, entity] of entities.entries()) {
    const version = entity && metaOf(entity)?.version
    history.readReplica(operation, ids[i]!, version, entity, request.bound)
  }
}

const query: Act = async (options, operation) => {
  const { store, random, history } = options
  const { options: from, bound } = ask(options)
  const question = questionOf(options)
  const page = await store.query(question.index, question.where, {
    ...from,
    limit: random.pick([2, 100, 100]),
    scatter: true,
  })
  history.queriedReplicas(operation, question, page, bound, timeOf(page.cost.asOf, options))
}

const all: Act = async (options, operation) => {
  const { store, history } = options
  const { options: from, bound } = ask(options)
  const question = questionOf(options)
  const items = await store.getAll(question.index, question.where, { ...from, scatter: true })
  history.gotAll(history.within(operation, bound), question, items)
}

const count: Act = async (options, operation) => {
  const { store, random, history } = options
  const { options: from, bound } = ask(options)
  const question = questionOf(options)
  const exact = random.chance(0.5)
  const found = await store.count(question.index, question.where, { ...from, exact, scatter: true })
  history.counted(history.within(operation, bound), question, found, exact)
}

/** Converts a time of the process's clock to the clock of the databases. */
function timeOf(asOf: Date | undefined, { replicas }: ClientOptions): number | undefined {
  return asOf && asOf.getTime() - (replicas?.skewMs ?? 0)
}

export const replicaReads: readonly Act[] = [get, get, getMany, query, query, query, all, count]
