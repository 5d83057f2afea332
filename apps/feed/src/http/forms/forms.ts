import csrf from '@fastify/csrf-protection'
import formbody from '@fastify/formbody'
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { cleanField } from './clean-field.ts'
import { forgedForm } from '../problem.ts'
import { sessionKey } from '../session.ts'
import { shared } from '../shared.ts'
import { openUpload, type Upload } from './upload.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** First value of each field of the form. */
    fields: Readonly<Record<string, string>>
    /** Files of the form that were not read yet; undefined if the form has none. */
    upload: Upload | undefined
    /** Secret in a cookie of the browser, for which the tokens of its forms are valid; undefined if it has none. */
    readonly formSecret: string | undefined
  }
  interface FastifyReply {
    /** Returns a token for the forms of a page. Begins a form session if there is none. */
    formToken(): string
  }
}

const SECRET_COOKIE = 'form_secret'

/** Parses forms, and makes tokens which prove that this site made a form for this session. */
export const forms = shared<{ readonly secret: string }>(async (app, { secret }) => {
  app.decorateRequest('upload', undefined)
  app.decorateRequest('fields')
  app.decorateRequest('formSecret', {
    getter() {
      return this.unsignCookie(this.cookies[SECRET_COOKIE] ?? '').value ?? undefined
    },
  })
  app.decorateReply('formToken', function (this: FastifyReply) {
    const secure = this.request.siteOrigin.startsWith('https:')
    return this.generateCsrf({ userInfo: sessionOf(this.request), secure })
  })
  app.addHook('onRequest', async (request) => {
    request.fields = {}
  })
  // Forms are the only request bodies of the site.
  app.removeAllContentTypeParsers()
  await app.register(formbody)
  // A file that is too large is read up to the limit, so that it can be refused by name while other files of the form are imported.
  await app.register(multipart, { throwFileSizeLimit: false })
  await app.register(csrf, {
    cookieKey: SECRET_COOKIE,
    cookieOpts: { path: '/', httpOnly: true, sameSite: 'lax', signed: true },
    csrfOpts: { hmacKey: secret },
    getUserInfo: sessionOf,
    getToken: ({ fields }) => fields['token'],
  })
})

/** A token is valid in one session only. */
function sessionOf(request: FastifyRequest): string {
  return sessionKey(request)?.nonce ?? 'nobody'
}

/** Checks the forms of the routes of this instance. Every POST route has to set its rate limit; otherwise registering it throws. */
export function checkForms(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config }) => {
    if ([method].flat().includes('POST') && config?.rateLimit === undefined)
      throw new TypeError(`The route POST ${url} does not set the rate limit of its form.`)
  })
  // Before the rate limit, so that forms of other sites do not use up a person's rate.
  app.addHook('onRequest', async (request) => {
    if (isForm(request)) refuseForeign(request)
  })
  app.addHook('preValidation', async (request) => {
    if (!isForm(request)) return
    if (request.isMultipart()) request.upload = await openUpload(request)
    request.fields = request.upload?.fields ?? readFields(request.body)
  })
  app.addHook('preValidation', (request, reply, done) => {
    if (isForm(request)) app.csrfProtection(request, reply, done)
    else done()
  })
  app.addHook('onError', async (request) => {
    // The rest of a refused form is read and discarded, because the browser reuses the connection.
    if (request.upload === undefined) return
    request.raw.unpipe()
    request.raw.resume()
  })
}

const isForm = ({ method }: FastifyRequest): boolean => method === 'POST'

/** Refuses a form if a header of the browser says that it comes from another site. */
function refuseForeign({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site']
  if (typeof site === 'string' && site !== 'same-origin' && site !== 'none') throw forgedForm()
  const { origin } = headers
  if (origin !== undefined && URL.parse(origin)?.host !== headers.host?.toLowerCase()) throw forgedForm()
}

/** Reads the fields of a URL-encoded form. */
function readFields(body: unknown): Record<string, string> {
  const fields: Record<string, string> = {}
  if (typeof body !== 'object' || body === null) return fields
  for (const [name, value] of Object.entries(body)) {
    const first: unknown = Array.isArray(value) ? value[0] : value
    if (typeof first === 'string') fields[name] = cleanField(first)
  }
  return fields
}
