import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isLooseleafError } from 'looseleaf'
import { verifyMember } from '../../domain/accounts/commands.ts'
import { listPeople, personByName } from '../../domain/accounts/people.ts'
import { checkForm } from '../../http/forms/check-form.ts'
import { knowBrowser, knownBrowser } from '../../http/known-browsers.ts'
import { limits } from '../../http/rate-limits.ts'
import { signIn, signOut } from '../../http/session.ts'
import type { Person } from '../../kinds/person.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { EMPTY_FORM, type FormState } from '../../ui/form-parts.tsx'
import { backFromSignIn, signInForm } from './form.ts'
import { SignInPage } from './sign-in-page.tsx'

/** One message, so that a guesser does not learn which names there are, and whose address is guessed at. */
const WRONG = {
  password:
    'There is no such name with this password. After ten tries in ten minutes, the right password is refused, too.',
}

export async function signInRoutes(app: FastifyInstance): Promise<void> {
  app.get('/sign-in', async (request, reply) => {
    const { back } = request.query as { back?: unknown }
    return sendPage(request, reply, backFromSignIn(back), EMPTY_FORM)
  })

  app.post('/sign-in', { config: { rateLimit: limits.signIn } }, async (request, reply) => {
    const { fields, site } = request
    const back = backFromSignIn(fields['back'])
    const { values, errors } = checkForm(signInForm, fields)
    if (values !== undefined) {
      const sample = await samplePerson(site.data, values.name)
      if (sample !== undefined) await signIn(request, sample.id, undefined)
      if (sample !== undefined || (await signInMember(request, reply, values)))
        return reply.redirect(back, 303)
    }
    void reply.code(422)
    return sendPage(request, reply, back, { values: fields, errors: errors ?? WRONG })
  })

  app.post('/sign-out', { config: { rateLimit: false } }, async (request, reply) => {
    await signOut(request, reply)
    return reply.redirect('/', 303)
  })
}

async function samplePerson(data: SiteData, name: string): Promise<Person | undefined> {
  const person = /^[a-z0-9-]{1,40}$/.test(name) ? await personByName(data, name) : undefined
  return person?.sample === true ? person : undefined
}

/**
 * Counts the attempt under the name as it was typed, and under the person. A refusal of the person looks like a wrong password: otherwise
 * a stranger could find out whose address it is. A browser in which the person has signed in before has a count of its own instead.
 */
async function signInMember(
  request: FastifyRequest,
  reply: FastifyReply,
  { name, password }: Record<'name' | 'password', string>,
): Promise<boolean> {
  const known = knownBrowser(request)
  const refusal = await request.countAttempt(name)
  if (refusal !== undefined && known === undefined) throw refusal
  const mayTry = async (personId: string): Promise<boolean> => {
    if (known?.personId === personId) return (await request.countKnown(known)) === undefined
    return refusal === undefined && (await request.countAttempt(personId)) === undefined
  }
  const member = await verifyMember(request.site.data, name, password, mayTry)
  if (member === undefined && refusal !== undefined) throw refusal
  if (member === undefined) {
    await request.countWrongGuess()
    return false
  }
  try {
    await signIn(request, member.person.id, member.account)
    knowBrowser(request, reply, member.person.id)
    return true
  } catch (error) {
    // The password has changed, or the account is deleted, since it was verified.
    if (isLooseleafError(error, 'VERSION_MISMATCH') || isLooseleafError(error, 'NOT_FOUND')) return false
    throw error
  }
}

async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  back: string,
  form: FormState,
): Promise<FastifyReply> {
  const { items } = await listPeople(request.site.data)
  const samples = items.filter(({ sample }) => sample === true)
  return reply.page(
    (ctx) => <SignInPage ctx={ctx} samples={samples} back={back} form={form} />,
    reply.statusCode,
  )
}
