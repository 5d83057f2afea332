import type { FastifyInstance } from 'fastify'
import type { Person } from '../../kinds/person.ts'
import { listPeople, peopleInFull, personByName } from '../../domain/accounts/people.ts'
import type { Reader } from '../../domain/site/reader.ts'
import { EMPTY_FORM } from '../../ui/form-parts.tsx'
import { SignInPage } from './sign-in-page.tsx'
import { backPath } from '../../http/back-path.ts'
import type { RouteContext } from '../index.ts'

export function registerSignInRoutes(app: FastifyInstance, { pages }: RouteContext): void {
  app.get('/sign-in', async (request, reply) => {
    const { ctx, reader } = await pages.openWithSession(request, reply)
    const { back } = request.query as { back?: unknown }
    const { items } = await listPeople(reader)
    const path = backPathOf(back)
    return pages.send(reply, <SignInPage ctx={ctx} people={items} back={path} form={EMPTY_FORM} />)
  })

  app.post('/sign-in', { config: { action: 'sign-in' } }, async (request, reply) => {
    const { ctx, reader } = await pages.open(request)
    const { fields } = pages.form(request)
    const name = (fields['name'] ?? '').trim().replace(/\s+/g, ' ')
    const back = backPathOf(fields['back'])
    const [person, ...others] = await peopleCalled(reader, name)
    if (person === undefined || others.length > 0) {
      const { items } = await listPeople(reader)
      const form = { values: fields, errors: { name: errorOf(name, person !== undefined) } }
      return pages.send(reply, <SignInPage ctx={ctx} people={items} back={back} form={form} />, 422)
    }
    await pages.signIn(request, reply, person)
    return reply.redirect(back, 303)
  })

  app.post('/sign-out', { config: { action: 'uncounted' } }, async (request, reply) => {
    await pages.signOut(request, reply)
    return reply.redirect('/', 303)
  })
}

/** Finds a person by the name in their address, or else all people with this full name. */
async function peopleCalled(reader: Reader, name: string): Promise<readonly Person[]> {
  if (name === '') return []
  const person = /^[a-z0-9-]{1,40}$/i.test(name) ? await personByName(reader, name) : undefined
  return person === undefined ? peopleInFull(reader, name) : [person]
}

function errorOf(name: string, areSeveral: boolean): string {
  if (name === '') return 'Type a name, or choose a person below.'
  const shown = `“${name.slice(0, 40)}”`
  return areSeveral
    ? `Several people are named ${shown}: choose one below.`
    : `There is no person named ${shown}.`
}

/** Returns the path to redirect to after signing in. It is never the sign-in page itself. */
function backPathOf(back: unknown): string {
  const path = backPath(typeof back === 'string' ? back : undefined)
  return /^\/sign-in(?:[/?#]|$)/.test(path) ? '/' : path
}
