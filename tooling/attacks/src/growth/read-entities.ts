import { setTimeout as sleep } from 'node:timers/promises'
import type { Bag } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import { moment } from '../lab/records.ts'
import { byGroup, byName, byPage, byPlace, bySlot, byTag } from './indexes.ts'
import {
  groupOf,
  idOf,
  NAMES,
  nameOf,
  placeOf,
  shadeOf,
  SHADES,
  sizeOf,
  tagOf,
  type Request,
} from './model.ts'
import { recordError, type GrowthWorker } from './growth-worker.ts'

const PAGE = 7
const WHOLE = 1_000
const AFTER_ERROR_MS = 50

/** Reads entities, pages, lists and scatters until it is stopped. */
export async function readEntities(worker: GrowthWorker, store: DataStore): Promise<void> {
  const { seed, number, clients, restMs } = worker.config
  worker.ready()
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const random = createRandom((seed * 1_000 + number) * 64 + client)
      while (!worker.isStopping) {
        const call = random.chance(0.5) ? 'get' : 'query'
        const from = moment()
        try {
          if (call === 'get') await get(worker, store, random)
          else await query(worker, store, random)
          await sleep(restMs)
        } catch (error) {
          recordError(worker, call, from, error)
          await sleep(AFTER_ERROR_MS)
        }
      }
    }),
  )
}

/** Picks an entity: every other time one that is often written. */
function pick({ config: { entities, writers, hot } }: GrowthWorker, random: Random): number {
  return random.below(random.chance(0.5) ? Math.min(entities, writers * hot) : entities)
}

async function get(worker: GrowthWorker, store: DataStore, random: Random): Promise<void> {
  const numbers = Array.from({ length: random.chance(0.7) ? 1 : 8 }, () => pick(worker, random))
  const from = moment()
  const [first] = numbers
  const found: readonly (Bag | undefined)[] =
    numbers.length === 1
      ? [await store.get(idOf(first as number))]
      : await store.getMany(numbers.map((number) => idOf(number)))
  const to = moment()
  const call = numbers.length === 1 ? 'get' : 'getMany'
  for (const [i, number] of numbers.entries()) {
    const bag = found[i]
    if (bag !== undefined && bag['number'] !== number)
      worker.recorder.write({ kind: 'wrong', message: `${call} of ${number} gave another entity` })
    worker.recorder.write({
      kind: 'sight',
      call,
      number,
      state: bag === undefined ? null : Number(bag['state']),
      from,
      to,
    })
  }
}

/** Chooses a query that may find the picked entity. */
function chooseRequest(worker: GrowthWorker, random: Random): Request {
  const number = pick(worker, random)
  const index = random.pick(['by_group', 'by_tag', 'by_slot', 'by_place', 'by_page', 'by_name'] as const)
  const value = {
    by_group: undefined,
    by_tag: random.chance(0.5) ? random.below(SHADES) : undefined,
    by_slot: undefined,
    by_place: random.below(3),
    by_page: undefined,
    by_name: random.below(NAMES),
  }[index]
  return { index, base: Math.floor(number / sizeOf(index, value)), value }
}

interface Page {
  readonly items: readonly object[]
  readonly cursor?: string | undefined
  readonly cost: { readonly complete: boolean }
}

interface PageOptions {
  readonly order: 'asc'
  readonly limit: number
  readonly cursor?: string
}

async function query(worker: GrowthWorker, store: DataStore, random: Random): Promise<void> {
  const request = chooseRequest(worker, random)
  const paged = random.chance(0.4)
  const turn = pageOf(store, request)
  const states = new Map<number, number>()
  const from = moment()
  let [twice, complete] = [0, true]
  let cursor: string | undefined
  do {
    const page: Page = await turn({
      order: 'asc',
      limit: paged ? PAGE : WHOLE,
      ...(cursor !== undefined && { cursor }),
    })
    for (const item of page.items as readonly Bag[]) {
      const number = Number(item['number'])
      if (states.has(number)) twice++
      states.set(number, Number(item['state']))
    }
    complete &&= page.cost.complete
    cursor = page.cursor
  } while (cursor !== undefined)
  const to = moment()
  if (twice > 0 && !paged)
    worker.recorder.write({ kind: 'wrong', message: `${request.index} found ${twice} entities twice` })
  worker.recorder.write({ kind: 'query', request, from, to, found: [...states], paged, complete })
}

function pageOf(store: DataStore, { index, base, value }: Request): (options: PageOptions) => Promise<Page> {
  switch (index) {
    case 'by_group':
      return (options) => store.query(byGroup, { group: groupOf(base) }, options)
    case 'by_page':
      return (options) => store.query(byPage, { group: groupOf(base) }, options)
    case 'by_tag': {
      const tags = value === undefined ? tagOf(base) : shadeOf(base, value)
      return (options) => store.query(byTag, { tags }, options)
    }
    case 'by_slot':
      return (options) => store.query(bySlot, { slot: base }, { ...options, scatter: true })
    case 'by_place':
      return (options) => store.list(byPlace, { place: placeOf(base, value ?? 0) }, options)
    case 'by_name':
      return (options) => store.query(byName, { name: nameOf(base, value ?? 0) }, options)
  }
}
