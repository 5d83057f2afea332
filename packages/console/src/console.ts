import type { IncomingMessage, ServerResponse } from 'node:http'
import { describeKind, LooseleafError } from '@looseleaf/core'
import type { DataStore, Trace } from '@looseleaf/store'
import { markup, type Html } from './html.ts'
import { createKeptTraces } from './kept-traces.ts'
import { page, pageHeaders, type Link } from './page.ts'
import { shardsPage } from './shards-page.ts'
import { tracesPage, xrayPage } from './xray-page.ts'

export interface ConsoleOptions {
  readonly store: Pick<DataStore, 'stats'>
  /** Where the application has it, without a slash at the end, such as `/store`. */
  readonly base: string
  /** Where a link leads back to the application. Default: there is none. */
  readonly home?: Link | undefined
  /** Traces that are kept at the most; 100 by default. */
  readonly maxTraces?: number | undefined
}

/** A window into a store, for a server of Node. It only reads, and shows no value of an entity. */
export interface Console {
  /**
   * Answers a request beneath `base`, and tells whether it was one. Who may ask is for the application to say, before it hands
   * the request on.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean
  /** Keeps a trace, and gives the address of its X-ray. Older ones go when there are too many. */
  keep(trace: Trace, title: string): string
}

interface Answer {
  readonly status: number
  readonly title: string
  /** Of the navigation. */
  readonly current: string
  readonly body: Html
}

/** Throws `BAD_OPTION`. */
export function createConsole({ store, base, home, maxTraces = 100 }: ConsoleOptions): Console {
  if (typeof base !== 'string' || !/^(\/[\w.~-]+)+$/.test(base)) {
    throw new LooseleafError(
      'BAD_OPTION',
      `createConsole takes { base }, a path such as /store; got ${describeKind(base)}.`,
    )
  }
  const traces = createKeptTraces(maxTraces)
  const own: readonly Link[] = [
    { href: `${base}/xray`, label: 'X-rays' },
    { href: base, label: 'Shards' },
  ]
  const links = home === undefined ? own : [home, ...own]

  function answerTo(path: string): Answer {
    if (path === base || path === `${base}/`)
      return { status: 200, title: 'Shards', current: base, body: shardsPage(store.stats()) }
    const current = `${base}/xray`
    if (path === current)
      return { status: 200, title: 'X-rays', current, body: tracesPage(base, traces.all()) }
    const kept = traces.find(path.slice(current.length + 1))
    if (path.startsWith(`${current}/`) && kept !== undefined)
      return { status: 200, title: `X-ray: ${kept.title}`, current, body: xrayPage(kept) }
    const what = path.startsWith(`${current}/`)
      ? 'This X-ray is not kept any more: only the last ones are.'
      : 'There is no such page.'
    return { status: 404, title: 'Not found', current: '', body: markup`<h1>Not found</h1><p>${what}</p>` }
  }

  return {
    handle(request, response) {
      const [path = ''] = (request.url ?? '').split('?')
      if (path !== base && !path.startsWith(`${base}/`)) return false
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.writeHead(405, { allow: 'GET, HEAD', 'content-type': 'text/plain; charset=utf-8' })
        response.end('Only GET and HEAD.\n')
        return true
      }
      const { status, title, current, body } = answerTo(path)
      response.writeHead(status, pageHeaders)
      response.end(request.method === 'HEAD' ? undefined : page(title, links, current, body))
      return true
    },
    keep: (trace, title) => `${base}/xray/${traces.keep(trace, title).id}`,
  }
}
