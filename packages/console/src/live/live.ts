import { LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import { describeKind, platformTime } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import { createActPage, messageOf, type ActPage } from '../acts/act-page.ts'
import type { Acts, PlannedAct } from '../acts/acts.ts'
import { Refusal } from '../acts/refusal.ts'
import { markup } from '../html/html.ts'
import type { Purposes } from '../indexes/purposes.ts'
import { LIMIT_MS, type Answer } from '../requests/routes.ts'
import { readOffered, type OfferedIndex } from './index-state.ts'
import type { Latencies } from './latencies.ts'
import { livePart, type FinishedFilling, type LiveView } from './live-page.ts'

export interface LiveOptions {
  /** Indexes that the page shows. With `acts` they can be added and dropped. */
  readonly offer: readonly IndexDefinitionData[]
  /** Result of `createLatencies`. The store's observer must call its `callEnded`. */
  readonly latencies: Latencies
}

export interface LiveContext {
  readonly store: Pick<DataStore, 'addIndex' | 'dropIndex' | 'indexes' | 'context'>
  readonly base: string
  readonly purposes: Purposes
  readonly acts: Acts | undefined
  /** Renders a whole page. */
  readonly html: (answer: Answer) => string
}

const MAX_FILLED = 50

/** Creates the page about the offered indexes. Throws `BAD_OPTION`. */
export function createLive(
  { offer, latencies }: LiveOptions,
  { store, base, purposes, acts, html }: LiveContext,
): ActPage {
  if (!Array.isArray(offer) || typeof latencies?.callEnded !== 'function') {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { live: { offer, latencies } }, an array of index definitions and a result of createLatencies; got ${describeKind(offer)} and ${describeKind(latencies)}.`,
    )
  }
  let filled: readonly FinishedFilling[] = []

  async function readView(): Promise<LiveView> {
    const signal = platformTime.abortAfter(LIMIT_MS)
    const offered = await readOffered(store, offer, { signal }).catch(messageOf)
    if (typeof offered !== 'string') filled = withFilled(filled, offered)
    return {
      offered,
      filled,
      purposes,
      latencies,
      acts: acts?.list(),
      underWay: acts?.underWay() ?? [],
      now: platformTime.now(),
    }
  }

  function planAct(form: URLSearchParams): PlannedAct {
    const [name, about] = (['add', 'drop'] as const)
      .map((act) => [act, form.get(act)] as const)
      .find(([, index]) => index !== null) ?? ['add', null]
    const definition = offer.find((index) => index.name === about)
    if (definition === undefined) throw new Refusal(404, 'The application offers no index of this name.')
    return name === 'add'
      ? { name, about: definition.name, run: () => store.addIndex(definition) }
      : {
          name,
          about: definition.name,
          question:
            'Its tables are dropped, shard by shard, and queries of it are refused from now on. Entities do not change. To get it back, add and fill it again.',
          run: () => store.dropIndex(definition),
        }
  }

  return createActPage({
    path: `${base}/live`,
    title: 'Add an index, live',
    lead: markup`An index is a table of its own on every shard. It can be added and dropped while the site is in use, without a lock, a pause or a migration. ${acts === undefined ? '' : 'Add one, and watch its effect on the latency of calls.'}`,
    acts,
    part: async () => livePart(await readView()),
    planAct,
    html,
  })
}

/** Adds newly finished fillings to the known ones. */
function withFilled(
  known: readonly FinishedFilling[],
  offered: readonly OfferedIndex[],
): readonly FinishedFilling[] {
  const now = offered.flatMap(({ definition: { name: index }, generations }) =>
    generations.flatMap(({ report }) => report?.lastRun && { index, at: report.lastRun.finishedAt }),
  )
  const isNew = (filling: FinishedFilling): boolean =>
    !known.some(({ index, at }) => index === filling.index && at.getTime() === filling.at.getTime())
  return [...known, ...now.filter((filling) => filling !== undefined).filter(isNew)].slice(-MAX_FILLED)
}
