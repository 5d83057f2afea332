import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  badArgument,
  checkOptions,
  describeKind,
  isRecord,
  LooseleafError,
  optionKinds,
  type OptionKinds,
} from '@looseleaf/core'
import type { DataStore, Trace } from '@looseleaf/store'
import type { ActPage } from './acts/act-page.ts'
import { createActs, type ActsOptions } from './acts/acts.ts'
import { entityPage } from './entity-page.ts'
import { footOf } from './foot.ts'
import { indexPage } from './index-page.ts'
import { indexesPage } from './indexes-page.ts'
import { createKeptPlaces } from './kept-places.ts'
import { createKeptTraces } from './kept-traces.ts'
import { createFaults, type FaultsOptions } from './faults/faults.ts'
import { createLive, type LiveOptions } from './live/live.ts'
import { overviewPage, thingsToTry } from './overview-page.ts'
import { page, pageHeaders, type Link } from './page.ts'
import { answerTo, notFound, type Answer, type Page } from './routes.ts'
import { checkPurposes, type Purposes } from './purposes.ts'
import { shardsPage } from './shards-page.ts'
import type { MayShow } from './showing.ts'
import { tracesPage, xrayPage } from './xray-page.ts'

export interface ConsoleOptions {
  readonly store: Pick<DataStore, 'stats' | 'addIndex' | 'dropIndex' | 'indexes' | 'context'>
  /** Where the application has it, without a slash at the end, such as `/store`. */
  readonly base: string
  /** Where a link leads back to the application. Default: there is none. */
  readonly home?: Link | undefined
  /**
   * Whether the values of an entity with this bag may be shown to whoever may look: its bag, its bytes and the keys of its index rows.
   * Only true is a yes. Default: of none, so that names, types and sizes are all that is seen.
   */
  readonly mayShow?: MayShow | undefined
  /** Traces that are kept at the most; 100 by default. 0: there is no page of X-rays. */
  readonly maxTraces?: number | undefined
  /** Has a page of indexes that come and go, with the latency of calls. Default: there is none. */
  readonly live?: LiveOptions | undefined
  /** Has a page where rows that lead to nothing are planted and cleaned away, for a demonstration; needs `acts`. Default: there is none. */
  readonly faults?: FaultsOptions | undefined
  /** What indexes are for; said where they are shown. Default: nothing is said of it. */
  readonly purposes?: Purposes | undefined
  /** Allows acts, such as adding an index, to whoever may look. Default: a console only reads. */
  readonly acts?: ActsOptions | undefined
}

/**
 * A window into a store, for a server of Node. It only reads unless `acts` are allowed, and shows the values of those entities alone that
 * the application allows.
 */
export interface Console {
  /**
   * Answers a request beneath `base`, and tells whether it was one. Who may ask is for the application to say, before it hands
   * the request on.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean
  /** Keeps a trace, and gives the address of its X-ray, where nothing is if `maxTraces` is 0. Older ones go when there are too many. */
  keep(trace: Trace, title: string): string
  /** Ends the streams of pages that look on, which would keep a server open, and acts that are under way. */
  close(): void
}

/** What is taken elsewhere is looked at there. */
const KINDS: OptionKinds<ConsoleOptions> = {
  store: optionKinds.elsewhere,
  base: optionKinds.elsewhere,
  home: {
    expected: 'a link, { href, label }',
    fits: (value) =>
      isRecord(value) && typeof value['href'] === 'string' && typeof value['label'] === 'string',
  },
  mayShow: {
    expected: 'a function that answers true or false',
    fits: (value) => typeof value === 'function',
  },
  maxTraces: {
    expected: 'a whole number, 0 or more',
    fits: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  },
  live: optionKinds.elsewhere,
  faults: optionKinds.elsewhere,
  purposes: optionKinds.elsewhere,
  acts: optionKinds.elsewhere,
}

/** Throws `BAD_OPTION`. */
export function createConsole(options: ConsoleOptions): Console {
  checkOptions('createConsole', options, KINDS)
  const { store, base, home, mayShow, maxTraces = 100, purposes = {} } = options
  if (!isRecord(store)) throw badArgument('createConsole', '{ store }, a DataStore', store)
  if (typeof base !== 'string' || !/^(\/[\w.~-]+)+$/.test(base)) {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { base }, a path such as /store; got ${describeKind(base)}.`,
    )
  }
  checkPurposes(purposes)
  const traces = createKeptTraces(maxTraces)
  const places = createKeptPlaces()
  const own: readonly Link[] = [
    { href: base, label: 'The store' },
    ...(maxTraces === 0 ? [] : [{ href: `${base}/xray`, label: 'X-rays' }]),
    ...(options.live === undefined ? [] : [{ href: `${base}/live`, label: 'Add an index' }]),
    ...(options.faults === undefined ? [] : [{ href: `${base}/faults`, label: 'Break it' }]),
    { href: `${base}/entity`, label: 'Entities' },
    { href: `${base}/index`, label: 'Indexes' },
    { href: `${base}/shards`, label: 'Shards' },
  ]
  const links = home === undefined ? own : [home, ...own]
  const acts = options.acts && createActs(options.acts, base)
  const htmlAt =
    (current: string) =>
    ({ title, body }: Answer): string =>
      page(title, body, { links, current, foot: footOf(store.context.driver) })
  const actPages: ActPage[] = []
  if (options.live !== undefined)
    actPages.push(createLive(options.live, { store, base, purposes, acts, html: htmlAt(`${base}/live`) }))
  if (options.faults !== undefined) {
    if (acts === undefined)
      throw new LooseleafError(
        'BAD_OPTION',
        'createConsole takes { faults } only with { acts }, which it needs.',
      )
    actPages.push(
      createFaults(options.faults, { store, base, purposes, acts, html: htmlAt(`${base}/faults`) }),
    )
  }
  const toTry = thingsToTry(base, {
    home,
    hasXrays: maxTraces > 0,
    mayAdd: options.live !== undefined && acts !== undefined,
    mayBreak: options.faults !== undefined,
  })
  const routes = new Map<string, Page>([
    ['', () => ({ status: 200, title: 'The store', body: overviewPage(store.stats(), toTry) })],
    ['shards', ({ signal }) => shardsPage({ store, base }, signal)],
    ['entity', (ask) => entityPage({ store, base, mayShow }, ask)],
    [
      'index',
      (ask) =>
        ask.rest === ''
          ? indexesPage({ store, base }, ask)
          : indexPage({ store, base, mayShow, places, purposes }, ask),
    ],
  ])

  if (maxTraces > 0) routes.set('xray', ({ rest }) => xrayAnswer(rest))
  function xrayAnswer(id: string): Answer {
    if (id === '') return { status: 200, title: 'X-rays', body: tracesPage(base, traces.all()) }
    const kept = traces.find(id)
    if (kept === undefined) return notFound('This X-ray is not kept any more: only the last ones are.')
    return { status: 200, title: `X-ray: ${kept.title}`, body: xrayPage(kept) }
  }

  async function answer(
    path: string,
    query: string,
    response: ServerResponse,
    isHead: boolean,
  ): Promise<void> {
    const beneath = path.slice(base.length + 1)
    const found = await answerTo(routes, beneath, query)
    const [name] = beneath.split('/')
    response.writeHead(found.status, pageHeaders)
    response.end(isHead ? undefined : htmlAt(name === '' ? base : `${base}/${name}`)(found))
  }

  return {
    handle(request, response) {
      const url = request.url ?? ''
      const [path = ''] = url.split('?', 1)
      const query = url.slice(path.length + 1)
      if (path !== base && !path.startsWith(`${base}/`)) return false
      if (actPages.some((one) => one.handle(path, request, response))) return true
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.writeHead(405, { allow: 'GET, HEAD', 'content-type': 'text/plain; charset=utf-8' })
        response.end('Only GET and HEAD.\n')
        return true
      }
      void answer(path, query, response, request.method === 'HEAD')
      return true
    },
    keep: (trace, title) => `${base}/xray/${traces.keep(trace, title).id}`,
    close() {
      acts?.close()
      actPages.forEach((one) => one.close())
    },
  }
}
