import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { keepNotice } from '../../domain/accounts/sessions.ts'
import { importFile, type ImportResult } from '../../domain/imports/import-file.ts'
import { importsOf } from '../../domain/imports/imports.ts'
import { undoImport } from '../../domain/imports/undo-import.ts'
import { notFound } from '../../http/problem.ts'
import { limits } from '../../http/rate-limits.ts'
import { cursorOf, idOf } from '../../http/request-values.ts'
import { sessionKey } from '../../http/session.ts'
import { signedIn } from '../../http/viewer.ts'
import type { Notice } from '../../kinds/session.ts'
import { EMPTY_FORM, type FormState } from '../../ui/form-parts.tsx'
import { noticeOfImport, noticeOfUndo } from './import-notices.ts'
import { ImportPage } from './import-page.tsx'

export async function importRoutes(app: FastifyInstance): Promise<void> {
  const config = { rateLimit: limits.import }

  app.get('/import', async (request, reply) => sendPage(request, reply, EMPTY_FORM))

  app.post('/import', { config }, async (request, reply) => {
    const { site, fields, upload } = request
    const viewer = signedIn(request)
    const files = (await upload?.readFiles()) ?? []
    if (files.length === 0) {
      void reply.code(422)
      const values = { follow: fields['follow'] ?? '' }
      return sendPage(request, reply, { values, errors: { files: 'Choose at least one file.' } })
    }
    const address = files.length === 1 ? fields['address'] : undefined
    const options = { personId: viewer.id, follow: fields['follow'] === 'yes' }
    const results: ImportResult[] = []
    for (const file of files) results.push(await importFile(site, { ...file, address }, options))
    return redirectWithNotice(request, reply, noticeOfImport(results))
  })

  app.post('/imports/:id/undo', { config }, async (request, reply) => {
    const viewer = signedIn(request)
    const undone = await undoImport(request.site.data, idOf(request, 'import'), viewer.id)
    if (undone === undefined) throw notFound('import of yours')
    return redirectWithNotice(request, reply, noticeOfUndo(undone))
  })
}

async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  form: FormState,
): Promise<FastifyReply> {
  const { viewer, site } = request
  const after = cursorOf(request)
  const list = viewer === undefined ? undefined : await importsOf(site.data, viewer.id, after)
  const notice = lastNotice(request)
  const { items = [], cursor, previous } = list ?? {}
  const paging = { cursor, previous, paged: after !== undefined }
  return reply.page(
    (ctx) => <ImportPage ctx={ctx} form={form} notice={notice} imports={items} paging={paging} />,
    reply.statusCode,
  )
}

/** Redirects the sender of a form to the page that shows this notice. Reloading that page shows it again. */
async function redirectWithNotice(
  request: FastifyRequest,
  reply: FastifyReply,
  notice: Notice,
): Promise<FastifyReply> {
  const session = sessionKey(request)
  if (session !== undefined) await keepNotice(request.site.data, session, notice)
  return reply.redirect('/import?done=1', 303)
}

/** Returns the last notice of the session, if the address asks for it. */
function lastNotice({ query, openSession }: FastifyRequest): Notice | undefined {
  const { done } = query as { done?: unknown }
  return done === undefined ? undefined : openSession?.session.notice
}
