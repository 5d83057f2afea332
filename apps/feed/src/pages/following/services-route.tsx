import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { addService, removeService } from '../../domain/following/commands.ts'
import { addSources } from '../../domain/sources/add-sources.ts'
import { servicesOf } from '../../domain/following/queries.ts'
import { backPath } from '../../http/back-path.ts'
import { checkForm } from '../../http/forms/check-form.ts'
import { Problem } from '../../http/problem.ts'
import { limits } from '../../http/rate-limits.ts'
import { idOf, toSignIn } from '../../http/request-values.ts'
import { signedIn } from '../../http/viewer.ts'
import { MAX_SERVICES } from '../../kinds/service.ts'
import { typedLink } from '../../text/web-link.ts'
import { EMPTY_FORM, type FormState } from '../../ui/form-parts.tsx'
import { ServicesPage } from './services-page.tsx'

const PATH = '/settings/services'

const serviceForm = z.object({
  address: z.string().transform((typed, { addIssue }) => {
    const link = typedLink(typed)
    if (link === undefined || !new URL(link).hostname.includes('.'))
      addIssue('Type the address of a feed, such as https://example.org/feed.xml.')
    return link ?? ''
  }),
})

/** Serves the sources that a person publishes through. */
export async function serviceRoutes(app: FastifyInstance): Promise<void> {
  const config = { rateLimit: limits.follow }

  app.get(PATH, async (request, reply) => {
    if (request.viewer === undefined) return toSignIn(reply, PATH)
    return sendPage(request, reply, EMPTY_FORM)
  })

  app.post(PATH, { config }, async (request, reply) => {
    const viewer = signedIn(request)
    const { fields, site } = request
    const { values, errors } = checkForm(serviceForm, fields)
    if (errors !== undefined) {
      void reply.code(422)
      return sendPage(request, reply, { values: fields, errors })
    }
    const [source] = await addSources(site.data, [values], { personId: viewer.id })
    await add(request, viewer.id, source!.id)
    return reply.redirect(PATH, 303)
  })

  app.post('/sources/:id/publish', { config }, async (request, reply) => {
    await add(request, signedIn(request).id, idOf(request, 'source'))
    return reply.redirect(backPath(request.fields['back'] ?? PATH), 303)
  })

  app.post('/sources/:id/unpublish', { config }, async (request, reply) => {
    await removeService(request.site.data, signedIn(request).id, idOf(request, 'source'))
    return reply.redirect(backPath(request.fields['back'] ?? PATH), 303)
  })
}

async function add({ site }: FastifyRequest, personId: string, sourceId: string): Promise<void> {
  if (await addService(site.data, personId, sourceId)) return
  throw new Problem(
    422,
    'That source cannot be a service of yours',
    `The source does not exist any more, or you publish through ${MAX_SERVICES} sources already. Nothing has been changed.`,
  )
}

async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  form: FormState,
): Promise<FastifyReply> {
  const services = await servicesOf(request.site.data, signedIn(request).id)
  return reply.page((ctx) => <ServicesPage ctx={ctx} services={services} form={form} />, reply.statusCode)
}
