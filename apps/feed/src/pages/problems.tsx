import type { FastifyReply, FastifyRequest } from 'fastify'
import { renderToString } from 'preact-render-to-string'
import { safePath } from '../http/back-path.ts'
import { notFound, problemOf, UnknownHost, type Problem } from '../http/problem.ts'
import { isRead, signInPath } from '../http/request-values.ts'
import { shared } from '../http/shared.ts'
import { readViewer } from '../http/viewer.ts'
import { pageAbove, pagePath } from './page-path.ts'
import { ProblemPage, type RefusedForm } from '../ui/frame/problem-page.tsx'
import { UnknownHostPage } from '../ui/frame/unknown-host-page.tsx'

export interface ProblemsOptions {
  /** Called with each error that is answered by a status of 500 or above. */
  readonly onError: (error: unknown) => void
}

/** Answers errors with pages. */
export const problems = shared<ProblemsOptions>(async (app, { onError }) => {
  app.setNotFoundHandler(async (request, reply) => sendProblem(request, reply, notFound('page')))
  app.setErrorHandler(async (error, request, reply) => {
    const problem = problemOf(error, { isRead: isRead(request), hasWritten: hasWritten(request) })
    if (problem.status >= 500) onError(error)
    return sendProblem(request, reply, problem)
  })
})

/** Calls of the store that the forms of the site write with. */
const WRITES: ReadonlySet<string> = new Set(['insert', 'put', 'update', 'upsert', 'delete', 'batch'])

function hasWritten({ trace }: FastifyRequest): boolean {
  const calls = trace?.calls ?? []
  return calls.some(
    ({ name, durationMs, failure }) => WRITES.has(name) && durationMs !== undefined && failure === undefined,
  )
}

async function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): Promise<FastifyReply> {
  const { status, title, message, headers } = problem
  void reply.code(status).headers(headers)
  if (problem instanceof UnknownHost) return sendUnknownHost(reply, problem)
  // The page of a 5xx does not read the store, which may be the cause. The page of a 429 does not, to cost nothing.
  if (status < 500 && status !== 429) await readViewer(request).catch(() => {})
  // Feed readers are programs and show no page. The X-ray is kept for people who look for the cause.
  if (isFeed(request) && status >= 500) {
    if ((request.trace?.calls.length ?? 0) > 0) request.keepXray()
    return reply.type('text/plain; charset=utf-8').send(`${title}: ${message}\n`)
  }
  const again = status === 503 && isRead(request) ? safePath(request.url) : undefined
  const above = status === 405 ? pageAbove(request) : undefined
  const isVisitor = request.viewer === undefined && !request.isViewerUnread
  const signIn = problem.needsSession && isVisitor ? signInPath(pagePath(request)) : undefined
  const form = problem.maySendAgain ? refusedForm(request) : undefined
  return reply.page(
    (ctx) => (
      <ProblemPage
        ctx={ctx}
        status={status}
        title={title}
        text={message}
        again={again}
        above={above}
        signIn={signIn}
        form={form}
      />
    ),
    status,
  )
}

/** Returns the form that a request sent; undefined for a page. */
function refusedForm({ method, url, fields, upload }: FastifyRequest): RefusedForm | undefined {
  const action = method === 'POST' ? safePath(url) : undefined
  if (action === undefined) return undefined
  const isSecret = upload !== undefined || Object.keys(fields).some((name) => name.includes('password'))
  return { action, fields: isSecret ? undefined : fields }
}

function sendUnknownHost(reply: FastifyReply, { host, home }: UnknownHost): FastifyReply {
  return reply
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>${renderToString(<UnknownHostPage host={host} home={home} />)}`)
}

function isFeed({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url?.endsWith('.atom') === true
}
