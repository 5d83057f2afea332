import type { IncomingMessage, ServerResponse } from 'node:http'
import type { IndexDefinitionData } from '@looseleaf/core'
import {
  badOption,
  badArgument,
  checkOptions,
  describeKind,
  isRecord,
  optionKinds,
  type OptionKinds,
} from '@looseleaf/core/internal'
import type { DataStore, Trace } from '@looseleaf/store'
import { servePage, type ActPage } from './acts/act-page.ts'
import { createActs, type ActsOptions } from './acts/acts.ts'
import { entityPage } from './entities/entity-page.ts'
import { indexPage } from './indexes/index-page.ts'
import { indexesPage } from './indexes/indexes-page.ts'
import { createKeptPlaces } from './indexes/kept-places.ts'
import { createKeptTraces } from './xrays/kept-traces.ts'
import { offeredPage } from './offered/offered-page.ts'
import { markup } from './kit/html.ts'
import { overviewPage } from './overview-page.ts'
import { page, type Link } from './kit/page.ts'
import { footerOf } from './requests/footer.ts'
import { pageHeaders } from './requests/headers.ts'
import { answerTo, notFound, type Answer, type Page } from './requests/routes.ts'
import type { Purposes } from './indexes/purposes.ts'
import type { MayShow, PageOf, ShownStore } from './requests/shown-store.ts'
import { shardsPage } from './shards/shards-page.ts'
import { checkedMayShow } from './entities/visibility.ts'
import { tracesPage, xrayPage } from './xrays/xray-page.ts'

export interface ConsoleOptions {
  readonly store: Pick<DataStore, 'stats' | 'addIndex' | 'dropIndex' | 'indexes' | 'shards' | 'context'>
  /** Path of the console in the application, such as `/store`, without a slash at the end. */
  readonly base: string
  /** Link back to the application. Default: none. */
  readonly home?: Link | undefined
  /**
   * Returns true for entities whose values may be shown to every user of the console: the bag, the bytes of the body, and the
   * keys of index rows. Any other result hides them. Default: hides the values of all entities, so the pages only show names,
   * types and sizes.
   */
  readonly mayShow?: MayShow | undefined
  /**
   * Returns a link from the page of an entity to a page of the application that shows it; undefined for none. Called for entities that
   * `mayShow` allows. Default: no links.
   */
  readonly pageOf?: PageOf | undefined
  /** Largest number of kept traces. Default: 100. With 0 there is no page of X-rays. */
  readonly maxTraces?: number | undefined
  /** Adds a page with the states and fillings of these indexes. With `acts` they can be added and dropped. Default: no such page. */
  readonly offer?: readonly IndexDefinitionData[] | undefined
  /** More pages, which the application renders by `@looseleaf/console/kit`. Default: none. */
  readonly pages?: readonly ActPage[] | undefined
  /** Descriptions of indexes, shown next to them. Default: none. */
  readonly purposes?: Purposes | undefined
  /** Allows acts, such as adding an index, to every user of the console. Default: the console is read-only. */
  readonly acts?: ActsOptions | undefined
}

/** Pages about a store, for a Node server. Read-only unless `acts` are allowed. Shows only values that `mayShow` allows. */
export interface Console {
  /**
   * Answers a request whose path starts with `base`; returns false for any other path. Does not authenticate: the application
   * must check the user before it calls this.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean
  /**
   * Keeps a trace and returns the address of its X-ray. Drops the oldest trace beyond `maxTraces`; with 0 the address leads to no page. The
   * X-ray links to `page`, the path of the page that the work rendered, such as `/people`. Default: no link; nor is there one for anything
   * that is not a path of this server, so a requested address can be passed as it is.
   */
  keep(trace: Trace, title: string, page?: string): string
  /** Ends running acts and the streams to browsers, which would keep a server open. */
  close(): void
}

/** Checks of the options that no other function checks. */
const KINDS: OptionKinds<ConsoleOptions> = {
  store: optionKinds.elsewhere,
  base: optionKinds.elsewhere,
  home: {
    expected: 'a link, { href, label }',
    fits: (value) =>
      isRecord(value) && typeof value['href'] === 'string' && typeof value['label'] === 'string',
  },
  mayShow: {
    expected: 'a function that returns true or false',
    fits: optionKinds.function.fits,
  },
  pageOf: {
    expected: 'a function that returns a link, { href, label }, or undefined',
    fits: optionKinds.function.fits,
  },
  maxTraces: {
    expected: 'a whole number, 0 or more',
    fits: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  },
  offer: optionKinds.array,
  pages: optionKinds.array,
  purposes: {
    expected: 'an object with a { text } for the name of each index',
    fits: (value) =>
      isRecord(value) &&
      Object.values(value).every((purpose) => isRecord(purpose) && typeof purpose['text'] === 'string'),
  },
  acts: optionKinds.elsewhere,
}

const OWN_PAGES: readonly unknown[] = ['xray', 'entity', 'index', 'shards']

/** Throws `BAD_OPTION` unless each page has a name of its own, because its address is made of it. */
function checkPageNames(pages: readonly ActPage[]): void {
  const names = pages.map((each: unknown) => (isRecord(each) ? each['name'] : each))
  for (const [i, name] of names.entries()) {
    const isText = typeof name === 'string'
    const isTwice = names.indexOf(name) < i
    if (isText && /^[\w-]+$/.test(name) && !OWN_PAGES.includes(name) && !isTwice) continue
    throw badOption(
      `createConsole takes pages with different names of letters, digits and hyphens, other than ${OWN_PAGES.join(', ')}; got ${isText ? JSON.stringify(name.slice(0, 40)) : describeKind(name)}${isTwice ? ' twice' : ''}.`,
    )
  }
}

/** Creates a console. Throws `BAD_OPTION`. */
export function createConsole(options: ConsoleOptions): Console {
  checkOptions('createConsole', options, KINDS)
  const { store, base, home, maxTraces = 100, purposes = {} } = options
  if (!isRecord(store)) throw badArgument('createConsole', '{ store }, a DataStore', store)
  if (typeof base !== 'string' || !/^(\/[\w.~-]+)+$/.test(base))
    throw badArgument('createConsole', '{ base }, a path such as /store', base)
  const { onWarning } = store.context
  const mayShow = options.mayShow && checkedMayShow(options.mayShow, onWarning)
  const traces = createKeptTraces(maxTraces)
  const shown: ShownStore = { store, base, mayShow, pageOf: options.pageOf }
  const indexOptions = { places: createKeptPlaces(), purposes }
  const { offer, pages = [] } = options
  const actPages = offer === undefined ? pages : [offeredPage({ store, offer, purposes }), ...pages]
  checkPageNames(actPages)
  const addressOf = ({ name }: ActPage): string => `${base}/${name}`
  const links: readonly Link[] = [
    ...(home === undefined ? [] : [home]),
    { href: base, label: 'The store' },
    ...(maxTraces === 0 ? [] : [{ href: `${base}/xray`, label: 'X-rays' }]),
    ...actPages.map((each) => ({ href: addressOf(each), label: each.label })),
    { href: `${base}/entity`, label: 'Entities' },
    { href: `${base}/index`, label: 'Indexes' },
    { href: `${base}/shards`, label: 'Shards' },
  ]
  const acts = options.acts && createActs(options.acts, base, onWarning)
  const htmlAt =
    (current: string) =>
    ({ title, body }: Answer): string => {
      const footer = footerOf(store.context.driver)
      return page({ title: `${title} · store`, label: 'Store', links, current, footer }, body)
    }
  const served = actPages.map((each) => {
    const path = addressOf(each)
    return servePage(each, { path, acts, html: htmlAt(path) })
  })
  const suggestions = [
    ...(home === undefined || maxTraces === 0
      ? []
      : [
          markup`Load <a href="${home.href}">a page of ${home.label}</a>, and find it in the <a href="${base}/xray">X-rays</a>: its few statements, and the shard of each.`,
        ]),
    ...actPages.flatMap((each) => (acts && each.suggestion?.(addressOf(each))) ?? []),
    markup`<a href="${base}/entity">Open an entity</a>: its bag, its bytes, and its index rows on all shards.`,
  ]
  const routes = new Map<string, Page>([
    ['', () => ({ status: 200, title: 'The store', body: overviewPage(store.stats(), suggestions) })],
    ['shards', (request) => shardsPage(shown, request)],
    ['entity', (request) => entityPage(shown, request)],
    [
      'index',
      (request) =>
        request.rest === '' ? indexesPage(shown, request) : indexPage({ ...shown, ...indexOptions }, request),
    ],
  ])

  if (maxTraces > 0) routes.set('xray', ({ rest }) => xrayAnswer(rest))
  function xrayAnswer(id: string): Answer {
    if (id === '') return { status: 200, title: 'X-rays', body: tracesPage(base, traces.all()) }
    const kept = traces.find(id)
    if (kept === undefined) return notFound('This X-ray was dropped: the console keeps only the latest ones.')
    return { status: 200, title: `X-ray: ${kept.title}`, body: xrayPage(base, kept) }
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
      if (served.some((each) => each.handle(path, request, response))) return true
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.writeHead(405, { allow: 'GET, HEAD', 'content-type': 'text/plain; charset=utf-8' })
        response.end('Only GET and HEAD.\n')
        return true
      }
      void answer(path, query, response, request.method === 'HEAD')
      return true
    },
    keep: (trace, title, path) => `${base}/xray/${traces.keep(trace, title, path).id}`,
    close() {
      acts?.close()
      served.forEach((each) => each.close())
    },
  }
}
