import type { FastifyInstance } from 'fastify'
import { join } from '../../domain/accounts/commands.ts'
import { checkForm } from '../../http/forms/check-form.ts'
import { knowBrowser } from '../../http/known-browsers.ts'
import { limits } from '../../http/rate-limits.ts'
import { signIn } from '../../http/session.ts'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { backFromSignIn } from '../sign-in/form.ts'
import { joinForm, TAKEN } from './forms.ts'
import { JoinPage } from './join-page.tsx'

export async function joinRoutes(app: FastifyInstance): Promise<void> {
  app.get('/join', async (request, reply) => {
    const { back } = request.query as { back?: unknown }
    return reply.page((ctx) => <JoinPage ctx={ctx} back={backFromSignIn(back)} form={EMPTY_FORM} />)
  })

  app.post('/join', { config: { rateLimit: limits.join } }, async (request, reply) => {
    const { fields, site, now } = request
    const back = backFromSignIn(fields['back'])
    const { values, errors } = checkForm(joinForm, fields)
    const joined = values && (await join(site.data, values, now))
    if (typeof joined === 'object') {
      await signIn(request, joined.person.id, joined.account)
      knowBrowser(request, reply, joined.person.id)
      return reply.redirect(back, 303)
    }
    const form = {
      values: fields,
      errors: joined === undefined ? (errors ?? {}) : { [joined]: TAKEN[joined] },
    }
    return reply.page((ctx) => <JoinPage ctx={ctx} back={back} form={form} />, 422)
  })
}
