import type { IncomingMessage, ServerResponse } from 'node:http'
import { Html, markup } from '../kit/html.ts'
import { capital } from '../kit/text.ts'
import { headersWith } from '../requests/headers.ts'
import { messageOf } from '../requests/read-part.ts'
import type { Answer } from '../requests/routes.ts'
import { ACT_FORM, actState, END, idOf } from './act-button.ts'
import type { Act, Acts, PlannedAct, RunningAct } from './acts.ts'
import { actsPart, resultOf } from './acts-part.ts'
import { LIVE_SCRIPT, LIVE_SCRIPT_HASH } from './live-script.ts'
import { Refusal } from './refusal.ts'
import { createStreams } from './streams.ts'

/** A page of the console that refreshes itself every second and has buttons for acts. */
export interface ActPage {
  /** Part of the address after the base of the console, such as `offered`. */
  readonly name: string
  /** Text of the links to the page. */
  readonly label: string
  readonly title: string
  /** Introduction above the refreshed part. */
  readonly lead: Html
  /** Suggestion for the first page of the console, with a link to this address, if acts are allowed. Default: none. */
  readonly suggestion?: ((address: string) => Html) | undefined
  /** Names of the acts that its buttons request, such as `add`. The page lists only these acts. */
  readonly acts: readonly string[]
  /** Renders the refreshed part without the list of acts. */
  part(acts: KnownActs): Promise<{
    readonly body: Html
    /** State of the page as a sentence for screen readers. Default: the last act. */
    readonly news?: string | undefined
  }>
  /** Returns the act that a button requests; undefined if there is none on this subject. */
  plan(name: string, about: string): PlannedAct | undefined
}

export interface KnownActs {
  /** True if the application allows acts. Without it, a page has no buttons. */
  readonly isAllowed: boolean
  /** The last acts that have ended, the newest first. */
  readonly ended: readonly Act[]
  readonly running: readonly RunningAct[]
}

export interface ServedPage {
  /** Answers a request if its path belongs to this page. Returns whether it did. */
  handle(path: string, request: IncomingMessage, response: ServerResponse): boolean
  close(): void
}

export interface ServePageOptions {
  readonly path: string
  /** Undefined if acts are off. */
  readonly acts: Acts | undefined
  /** Renders a whole page. */
  html(answer: Answer): string
}

const READ_ONLY =
  'This console is read-only. To allow acts, start looseleaf console with --acts, or pass acts to createConsole.'

const HEADERS = headersWith({ scriptHash: LIVE_SCRIPT_HASH })

/** Serves a page, the stream that refreshes it, and the forms of its acts. */
export function servePage(page: ActPage, { path, acts, html }: ServePageOptions): ServedPage {
  const { title, lead } = page
  const streams = createStreams(async () => (await refreshed()).text)
  const hasActs = page.acts.length > 0
  const isOwn = ({ name }: Pick<Act, 'name'>): boolean => page.acts.includes(name)

  async function refreshed(): Promise<Html> {
    const known = {
      isAllowed: acts !== undefined,
      ended: acts?.list() ?? [],
      running: acts?.inProgress() ?? [],
    }
    const { body, news } = await page.part(known)
    const ended = known.ended.filter(isOwn)
    const [last] = ended
    const others = known.running.filter((act) => !isOwn(act))
    return markup`<div data-news="${news ?? (last === undefined ? '' : `${last.name} ${last.about}: ${resultOf(last)}`)}">
${others.map((act) => markup`<p class="acts">${actState(act, `“${act.name} ${act.about}” is running`)}</p>`)}${body}${acts === undefined || !hasActs ? undefined : actsPart(ended, known.running.filter(isOwn))}</div>`
  }

  async function bodyOf(token: string | undefined): Promise<Html> {
    return markup`<h1>${title}</h1>
<p class="lead">${lead}${acts === undefined && hasActs ? ` ${READ_ONLY}` : ''}</p>
${token === undefined ? undefined : markup`<form id="${ACT_FORM}" method="post" action="${path}"><input type="hidden" name="token" value="${token}"></form>`}
<p role="status" id="news" class="unseen"></p>
<p id="old" class="old" role="alert" hidden>This page has no connection, so its numbers stand still. Load it again if they do not go on soon.</p>
<div id="live" data-stream="${path}/events">${await refreshed()}</div>
<p><a href="${path}">Refresh</a></p>
<script>${new Html(LIVE_SCRIPT)}</script>`
  }

  function planOf(form: URLSearchParams): PlannedAct {
    const name = page.acts.find((act) => form.has(act)) ?? ''
    const planned = page.plan(name, form.get(name) ?? '')
    if (planned === undefined) throw new Refusal(404, 'This page has no such act.')
    return planned
  }

  async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (acts === undefined) throw new Refusal(405, READ_ONLY)
    const form = await acts.take(request)
    const early = form.get(END)
    if (early !== null) {
      return redirectBack(response, await acts.end(early))
    }
    const planned = planOf(form)
    if (planned.question !== undefined && form.get('sure') !== 'yes') {
      const body = confirmation(planned, planned.question, acts.token(request, response))
      send(response, { status: 200, title: `${capital(planned.name)} ${planned.about}?`, body })
      return
    }
    await acts.begin(planned)
    redirectBack(response, planned)
  }

  /** Redirects to the pressed button, or to the element that replaces it, so that the keyboard focus stays there. */
  function redirectBack(response: ServerResponse, { name, about }: Pick<PlannedAct, 'name' | 'about'>): void {
    const location = `${path}#${encodeURIComponent(idOf(name, about))}`
    response.writeHead(303, { location, 'cache-control': 'no-store' }).end()
  }

  /** Renders the question before an act that cannot be undone. */
  function confirmation({ name, about }: PlannedAct, question: string, token: string): Html {
    return markup`<h1>${capital(name)} ${about}?</h1><p class="lead">${question}</p>
<form method="post" action="${path}"><input type="hidden" name="token" value="${token}"><input type="hidden" name="sure" value="yes">
<p class="acts"><button name="${name}" value="${about}">Yes, ${name} ${about}</button> <a href="${path}" autofocus>No, leave it</a></p></form>`
  }

  function send(response: ServerResponse, answer: Answer, isHead = false): void {
    const text = isHead ? undefined : html(answer)
    response.writeHead(answer.status, HEADERS)
    response.end(text)
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (request.method === 'POST') return await post(request, response)
      const body = await bodyOf(acts?.token(request, response))
      send(response, { status: 200, title, body }, request.method === 'HEAD')
    } catch (error) {
      // Closes the connection instead of waiting for the rest of an unread form.
      response.setHeader('connection', 'close')
      const status = error instanceof Refusal ? error.status : 500
      const body = markup`<h1>Not done</h1><p>${messageOf(error)}</p><p><a href="${path}">Back</a></p>`
      send(response, { status, title: 'Not done', body })
    }
  }

  function stream(response: ServerResponse): void {
    if (streams.add(response)) return
    response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' })
    response.end('Too many browsers watch this page.\n')
  }

  return {
    handle(requested, request, response) {
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      const site = request.headers['sec-fetch-site']
      const isForeign = site === 'cross-site' || site === 'same-site'
      if (requested === `${path}/events` && request.method === 'GET' && !isForeign) stream(response)
      else if (requested === path && (isRead || request.method === 'POST')) void serve(request, response)
      else return false
      return true
    },
    close: () => streams.close(),
  }
}
