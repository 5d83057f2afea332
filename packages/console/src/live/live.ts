import { describeKind, LooseleafError, type IndexDefinitionData, platformTime } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { createActPage, messageOf, type ActPage } from '../acts/act-page.ts'
import type { Acts, Deed } from '../acts/acts.ts'
import { Refusal } from '../acts/refusal.ts'
import { markup } from '../html.ts'
import type { Purposes } from '../purposes.ts'
import { LIMIT_MS, type Answer } from '../routes.ts'
import { readOffered, type OfferedIndex } from './index-state.ts'
import type { Latencies } from './latencies.ts'
import { livePart, type Filled, type LiveView } from './live-page.ts'

export interface LiveOptions {
  /** Indexes that are shown, and that may be added and dropped where acts are allowed. */
  readonly offer: readonly IndexDefinitionData[]
  /** See `createLatencies`; the store's observer has to tell it. */
  readonly latencies: Latencies
}

export interface LiveContext {
  readonly store: Pick<DataStore, 'addIndex' | 'dropIndex' | 'indexes' | 'context'>
  readonly base: string
  readonly purposes: Purposes
  readonly acts: Acts | undefined
  /** Makes a whole page. */
  readonly html: (answer: Answer) => string
}

const MOST_FILLED = 50

/** The page where indexes come and go. Throws `BAD_OPTION`. */
export function createLive(
  { offer, latencies }: LiveOptions,
  { store, base, purposes, acts, html }: LiveContext,
): ActPage {
  if (!Array.isArray(offer) || typeof latencies?.callEnded !== 'function') {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { live: { offer, latencies } }, an array of index definitions and what createLatencies gives; got ${describeKind(offer)} and ${describeKind(latencies)}.`,
    )
  }
  let filled: readonly Filled[] = []

  async function look(): Promise<LiveView> {
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

  function deedOf(form: URLSearchParams): Deed {
    const [name, about] = (['add', 'drop'] as const)
      .map((act) => [act, form.get(act)] as const)
      .find(([, index]) => index !== null) ?? ['add', null]
    const definition = offer.find((one) => one.name === about)
    if (definition === undefined) throw new Refusal(404, 'The application offers no such index.')
    return name === 'add'
      ? { name, about: definition.name, run: () => store.addIndex(definition) }
      : {
          name,
          about: definition.name,
          question:
            'Its tables are dropped, shard by shard, and whatever asks it goes without it from now on. Entities stay as they are. To have it again, it has to be filled again.',
          run: () => store.dropIndex(definition),
        }
  }

  return createActPage({
    path: `${base}/live`,
    title: 'Add an index, live',
    lead: markup`An index is a table of its own on every shard, so it comes and goes while the site is in use: no lock, no pause, no migration. ${acts === undefined ? '' : 'Add one, and see what that does to the calls of the site.'}`,
    acts,
    part: async () => livePart(await look()),
    deedOf,
    html,
  })
}

/** Some that were seen before, and those that are seen now. */
function withFilled(known: readonly Filled[], offered: readonly OfferedIndex[]): readonly Filled[] {
  const now = offered.flatMap(({ definition: { name: index }, generations }) =>
    generations.flatMap(({ report }) => report?.lastRun && { index, at: report.lastRun.finishedAt }),
  )
  const isNew = (one: Filled): boolean =>
    !known.some(({ index, at }) => index === one.index && at.getTime() === one.at.getTime())
  return [...known, ...now.filter((one) => one !== undefined).filter(isNew)].slice(-MOST_FILLED)
}
