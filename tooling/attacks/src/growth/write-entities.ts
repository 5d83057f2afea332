import { setTimeout as sleep } from 'node:timers/promises'
import { isLooseleafError } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import { moment, readRecords } from '../lab/records.ts'
import { idOf, isDeletion, stateOf, type State } from './model.ts'
import type { AnswerRecord, GrowthRecord } from './records.ts'
import { recordError, type GrowthWorker } from './growth-worker.ts'

/** An entity as its writer knows it. */
interface Known {
  /** Number of the last state that was sent; -1 before the first. */
  sent: number
  /** Number of the last acknowledged state; -1 before the first. */
  acknowledged: number
  /** True if a write after the acknowledged one may have taken place. */
  isDoubtful: boolean
  isBusy: boolean
}

/** Callers that put the first states. */
const FILLERS = 100
/** Pause after an error, so that callers do not flood a shard that is down. */
const AFTER_ERROR_MS = 50

/** Puts the first states of the writer's entities that have none, then writes entities until it is stopped. */
export async function writeEntities(worker: GrowthWorker, store: DataStore): Promise<void> {
  const { part, writers, entities, seed, number, clients, restMs, hot } = worker.config
  const own: number[] = []
  for (let each = part; each < entities; each += writers) own.push(each)
  const known = knownFrom(worker.config.earlier)
  const missing = own.filter((each) => known.get(each) === undefined)
  const write = (each: number, random: Random): Promise<boolean> =>
    writeState(worker, store, known, each, random)
  await Promise.all(
    Array.from({ length: FILLERS }, async (_, i) => {
      const random = createRandom(i)
      for (let at = i; at < missing.length; at += FILLERS) await write(missing[at] as number, random)
    }),
  )
  worker.ready()
  const warm = own.slice(0, hot)
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const random = createRandom((seed * 1_000 + number) * 64 + client)
      while (!worker.isStopping) {
        const isDone = await write(random.pick(random.chance(0.5) ? warm : own), random)
        await sleep(isDone ? restMs : AFTER_ERROR_MS)
      }
    }),
  )
}

/** Returns the entities that earlier processes have written. */
function knownFrom(files: readonly string[]): Map<number, Known> {
  const known = new Map<number, Known>()
  for (const file of files) {
    for (const record of readRecords<GrowthRecord>(file)) {
      if (record.kind === 'write') {
        const entity = knownOf(known, record.number)
        entity.sent = record.state
        // Until its answer.
        entity.isDoubtful = true
      } else if (record.kind === 'answer') settle(knownOf(known, record.number), record)
    }
  }
  return known
}

function knownOf(known: Map<number, Known>, number: number): Known {
  let entity = known.get(number)
  if (entity === undefined)
    known.set(number, (entity = { sent: -1, acknowledged: -1, isDoubtful: false, isBusy: false }))
  return entity
}

function settle(entity: Known, { state, outcome }: Pick<AnswerRecord, 'state' | 'outcome'>): void {
  if (outcome === 'acknowledged') entity.acknowledged = state
  entity.isDoubtful = outcome === 'unknown' || (entity.isDoubtful && outcome !== 'acknowledged')
}

/** Writes the next state of an entity. Resolves with false if the call failed. */
async function writeState(
  worker: GrowthWorker,
  store: DataStore,
  known: Map<number, Known>,
  number: number,
  random: Random,
): Promise<boolean> {
  const entity = knownOf(known, number)
  if (entity.isBusy) return true
  entity.isBusy = true
  const { recorder } = worker
  const wasDoubtful = entity.isDoubtful
  const state = ++entity.sent
  const from = moment()
  recorder.write({ kind: 'write', number, state, at: from })
  let outcome: AnswerRecord['outcome'] = 'acknowledged'
  try {
    await send(worker, store, { number, state, entity, random })
  } catch (error) {
    if (isLooseleafError(error, 'DUPLICATE_KEY')) outcome = 'refused'
    else {
      outcome = isLooseleafError(error) && !error.unknownOutcome ? 'failed' : 'unknown'
      recordError(worker, 'write', from, error)
    }
  } finally {
    entity.isBusy = false
  }
  entity.isDoubtful = wasDoubtful
  settle(entity, { state, outcome })
  recorder.write({ kind: 'answer', number, state, at: moment(), outcome })
  return outcome === 'acknowledged' || outcome === 'refused'
}

interface Sent {
  readonly number: number
  readonly state: number
  readonly entity: Known
  readonly random: Random
}

/** Deletes, inserts, updates or puts, as the entity's last state allows. */
async function send(
  { recorder }: GrowthWorker,
  store: DataStore,
  { number, state, entity: { acknowledged, isDoubtful }, random }: Sent,
): Promise<void> {
  const id = idOf(number)
  const bag = stateOf(number, state)
  const isThere = !isDoubtful && acknowledged >= 0 && !isDeletion(number, acknowledged)
  const isAbsent = !isDoubtful && !isThere
  if (bag === undefined) {
    const wasThere = await store.delete(id)
    if (isThere && !wasThere)
      recorder.write({
        kind: 'wrong',
        message: `A delete of ${number} found nothing after state ${acknowledged}`,
      })
    return
  }
  if (isAbsent && random.chance(0.5)) await store.insert({ ...bag }, { id })
  else if (isThere && random.chance(0.5)) {
    const from = moment()
    await store.update<State>(id, (found) => {
      const seen = Number(found.state)
      recorder.write({ kind: 'sight', call: 'update', number, state: seen, from, to: moment() })
      return bag
    })
  } else await store.put({ ...bag }, { id })
}
