import type { FastifyInstance } from 'fastify'
import { listPeople, peopleInFull, personByName } from '../../domain/accounts/people.ts'
import { checkForm } from '../../http/check-form.ts'
import { limits } from '../../http/rate-limits.ts'
import { signIn, signOut } from '../../http/session.ts'
import type { Person } from '../../kinds/person.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { backFromSignIn, signInForm } from './form.ts'
import { SignInPage } from './sign-in-page.tsx'

export async function signInRoutes(app: FastifyInstance): Promise<void> {
  app.get('/sign-in', async (request, reply) => {
    const { back } = request.query as { back?: unknown }
    const { items } = await listPeople(request.site.data)
    const path = backFromSignIn(typeof back === 'string' ? back : undefined)
    return reply.page((ctx) => <SignInPage ctx={ctx} people={items} back={path} form={EMPTY_FORM} />)
  })

  app.post('/sign-in', { config: { rateLimit: limits.signIn } }, async (request, reply) => {
    const { fields, site } = request
    const back = backFromSignIn(fields['back'])
    const { values, errors } = checkForm(signInForm, fields)
    const found = values === undefined ? [] : await peopleCalled(site.data, values.name)
    const [person, ...others] = found
    if (person === undefined || others.length > 0) {
      const { items } = await listPeople(site.data)
      const form = { values: fields, errors: errors ?? { name: errorOf(values.name, found.length) } }
      return reply.page((ctx) => <SignInPage ctx={ctx} people={items} back={back} form={form} />, 422)
    }
    await signIn(request, reply, person.id)
    return reply.redirect(back, 303)
  })

  app.post('/sign-out', { config: { rateLimit: false } }, async (request, reply) => {
    await signOut(request, reply)
    return reply.redirect('/', 303)
  })
}

/** Finds a person by the name in their address, or else all people with this full name. */
async function peopleCalled(data: SiteData, name: string): Promise<readonly Person[]> {
  const person = /^[a-z0-9-]{1,40}$/i.test(name) ? await personByName(data, name) : undefined
  return person === undefined ? peopleInFull(data, name) : [person]
}

function errorOf(name: string, people: number): string {
  const shown = `“${name.slice(0, 40)}”`
  return people > 1
    ? `Several people are named ${shown}: choose one below.`
    : `There is no person named ${shown}.`
}
