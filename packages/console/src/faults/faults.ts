import { cleanIndex, readShardReports } from '@looseleaf/cleaner'
import { describeKind, LooseleafError, type CatalogEntry, platformTime } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { actOrState, createActPage, type ActPage } from '../acts/act-page.ts'
import type { Acts, Deed, Doing } from '../acts/acts.ts'
import { actsPart, resultOf } from '../acts/acts-part.ts'
import { Refusal } from '../acts/refusal.ts'
import { asked } from '../asked.ts'
import { markup, type Html } from '../html.ts'
import { purposeOf, type Purposes } from '../purposes.ts'
import { LIMIT_MS, type Answer } from '../routes.ts'
import { counted, durationText } from '../text.ts'
import { BROKEN_MS, deaths, dieAtNextWrite, stopShard, type Death } from './break-shards.ts'
import { HOLD_MS, holdCleaner, type HeldCleaner } from './hold-cleaner.ts'
import { plantRows } from './plant-rows.ts'
import type { RowCounts } from './row-counts.ts'
import type { ShardFaults } from './shard-faults.ts'

export interface FaultsOptions {
  /** The names of the indexes that may be broken. */
  readonly indexes: readonly string[]
  /** See `createRowCounts`; the store's observer has to tell it. */
  readonly counts: RowCounts
  /** The cleaner of this process, which may be held for a minute. Default: none may be held. */
  readonly cleaner?: HeldCleaner | undefined
  /** What `createShardFaults` gave the store its shards by. Default: no shard is stopped, and no write dies. */
  readonly shards?: ShardFaults | undefined
}

export interface FaultsContext {
  readonly store: Pick<DataStore, 'context'>
  readonly base: string
  readonly purposes: Purposes
  readonly acts: Acts
  readonly html: (answer: Answer) => string
}

/** Rows that are planted on each shard at once. */
const PER_SHARD = 20
/** What the acts on the cleaner are about. */
const CLEANER = 'the cleaner'
/** What an act is about of which a write dies. */
const victim = (death: Death): string => `a write ${death}`

/** One that dies after its commit leaves nothing behind that was not there before, unless it had rows to take away. */
const meets = (death: Death): string =>
  death === 'before its commit' ? 'The next write' : 'The next write that takes a row out of an index'
/** Shards that have a button. */
const MAX_SHARDS = 16

/** The page where rows that lead to nothing are planted, met and cleaned away. Throws `BAD_OPTION`. */
export function createFaults(
  { indexes, counts, cleaner, shards }: FaultsOptions,
  { store, base, purposes, acts, html }: FaultsContext,
): ActPage {
  if (!Array.isArray(indexes) || typeof counts?.happened !== 'function') {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { faults: { indexes, counts } }, an array of names of indexes and what createRowCounts gives; got ${describeKind(indexes)} and ${describeKind(counts)}.`,
    )
  }
  if (cleaner !== undefined && (typeof cleaner?.stop !== 'function' || typeof cleaner.start !== 'function')) {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { faults: { cleaner: { stop, start } } }, two functions; got ${describeKind(cleaner)}.`,
    )
  }
  if (shards !== undefined && typeof shards?.refusals?.has !== 'function') {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { faults: { shards } }, what createShardFaults gives; got ${describeKind(shards)}.`,
    )
  }
  const { context } = store
  const planted = new Map<string, number>()

  const entryOf = (name: string): CatalogEntry | undefined =>
    context.catalog
      .current()
      .indexes.find((entry) => entry.name === name && entry.state === 'ready' && !entry.unique)

  function section(name: string): Html {
    const { discarded, removed } = counts.of(name)
    if (entryOf(name) === undefined)
      return markup`<h2>${name}</h2><p>The store has no such index that is ready.</p>`
    return markup`<section><h2>${name}</h2>${purposeOf(purposes, name)}
<dl><dt>planted</dt><dd>${counted(planted.get(name) ?? 0, 'row')}</dd><dt>discarded by queries</dt><dd>${counted(discarded, 'time')}</dd><dt>cleaned away</dt><dd>${counted(removed, 'row')}</dd></dl>
<p class="acts">${actOrState(acts.underWay(), 'plant', name, `Plant rows in ${name}`, 'Being planted')}${actOrState(acts.underWay(), 'clean', name, `Clean ${name}`, 'Being cleaned')}</p></section>`
  }

  async function cleanerSection(): Promise<Html> {
    const { value, failure } = await asked(
      (signal) => readShardReports({ context }, { signal }),
      platformTime.abortAfter(LIMIT_MS),
    )
    const lags = value?.map(
      ({ name, lagMs, isFollowed, error }) =>
        markup`<dt>${name}</dt><dd>${error !== undefined ? error.message : lagMs === undefined ? 'not known' : durationText(lagMs)}${isFollowed || error !== undefined ? '' : ', and no cleaner has it now'}</dd>`,
    )
    return markup`<section><h2>The cleaner</h2><p>How far it is behind the writes of each shard; some seconds are normal.</p>
${lags === undefined ? markup`<p>${failure}</p>` : markup`<dl>${lags}</dl>`}
<p class="acts">${actOrState(acts.underWay(), 'hold', CLEANER, 'Hold the cleaner', 'Held')}</p></section>`
  }

  function shardsSection(): Html {
    const names = context.driver.shards.map(({ name }) => name)
    return markup`<section><h2>A write</h2><p>The next write of an entity dies between two of its steps. Before its commit: its sender gets an error, and its index rows lead
to nothing until the index is cleaned. A cleaning leaves rows alone that are younger than a minute, since their writer may be at work. After its commit: the rows that it should have deleted stay until the cleaner follows, some seconds later. Only a write
that takes a row out of an index can die there, such as one that deletes an entity. To have time to look, hold the cleaner first.</p>
<p class="acts">${deaths.map((death) => actOrState(acts.underWay(), 'kill', victim(death), `Kill ${victim(death)}`, `Armed to kill ${victim(death)}`))}</p></section>
<section><h2>The shards</h2><p>Pages that need a stopped shard say so: on a small site, nearly all of them. Those of this window go on.</p>
<p class="acts">${names.slice(0, MAX_SHARDS).map((name) => actOrState(acts.underWay(), 'stop', name, `Stop ${name}`, `${name} is stopped`))}</p></section>`
  }

  async function cleanWatched(name: string, { signal, tell, came }: Doing): Promise<void> {
    const { removed } = await cleanIndex(store, name, {
      signal,
      onProgress: ({ phase, shard, done, total }) =>
        tell(
          `${phase}, ${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} on shard ${shard}`,
        ),
    })
    came(`${counted(removed, 'row')} cleaned away.`)
  }

  function breakingOf(faults: ShardFaults, form: URLSearchParams): Deed | undefined {
    const death = deaths.find((one) => victim(one) === form.get('kill'))
    if (death !== undefined)
      return {
        name: 'kill',
        about: victim(death),
        question: `${meets(death)} within ${durationText(BROKEN_MS)} dies ${death}${death === 'before its commit' ? ', and its sender gets an error' : ''}.`,
        ending: 'Call it off',
        run: (doing) => dieAtNextWrite(faults, death, BROKEN_MS, doing),
      }
    const stopped = context.driver.shards.find(({ name }) => name === form.get('stop'))
    if (stopped === undefined) return undefined
    const { name } = stopped
    return {
      name: 'stop',
      about: name,
      question: `For ${durationText(BROKEN_MS)} this process gets errors from it instead of answers. What needs it fails, and pages say so.`,
      ending: `Bring ${name} back`,
      run: (doing) => stopShard(faults, name, BROKEN_MS, doing),
    }
  }

  function deedOf(form: URLSearchParams): Deed {
    if (cleaner !== undefined && form.get('hold') === CLEANER)
      return {
        name: 'hold',
        about: CLEANER,
        question: `The cleaner of this process stops, and goes on by itself after ${durationText(HOLD_MS)}. Pages stay right meanwhile; rows that lead to nothing stay longer.`,
        ending: 'Let the cleaner go on',
        run: (doing) => holdCleaner(cleaner, HOLD_MS, doing),
      }
    const broken = shards && breakingOf(shards, form)
    if (broken !== undefined) return broken
    const about = form.get('plant') ?? form.get('clean') ?? ''
    const entry = indexes.includes(about) ? entryOf(about) : undefined
    if (entry === undefined)
      throw new Refusal(404, 'There is no such index that may be broken, or it is not ready.')
    if (!form.has('plant')) return { name: 'clean', about, run: (doing) => cleanWatched(about, doing) }
    return {
      name: 'plant',
      about,
      run: async ({ came }) => {
        let all = 0
        await plantRows(context, entry, PER_SHARD, (rows) => {
          all += rows
          planted.set(about, (planted.get(about) ?? 0) + rows)
          came(`${counted(all, 'row')} planted.`)
        })
      },
    }
  }

  return createActPage({
    path: `${base}/faults`,
    title: 'Break it, watch it heal',
    lead: markup`A writer that dies between its index rows and its commit leaves rows that lead to nothing. Plant such rows, and load pages of the site: they are right, and their X-rays
say how many rows they have discarded. Then clean the index, and nothing is left to discard; a running cleaner does so by itself, once a day. Planted rows stand at both ends of the index and are dated five minutes back, since a cleaning leaves young rows alone.`,
    acts,
    part: async () => {
      const [last] = acts.list()
      // Not the numbers, which change with every page of a busy site.
      const told = last === undefined ? '' : `${last.name} ${last.about}: ${resultOf(last)}`
      return markup`<div data-told="${told}">
${indexes.map(section)}${cleaner === undefined ? undefined : await cleanerSection()}${shards === undefined ? undefined : shardsSection()}${actsPart(acts.list(), acts.underWay())}<p class="soft">Numbers are of this process, since it was started.</p></div>`
    },
    deedOf,
    html,
  })
}
