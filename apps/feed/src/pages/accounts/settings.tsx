import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { changeAddress, changePassword, changeProfile, deleteMember } from '../../domain/accounts/commands.ts'
import { addressOf } from '../../domain/accounts/people.ts'
import { endSessionOf, sessionsOf } from '../../domain/accounts/sessions.ts'
import { checkForm } from '../../http/forms/check-form.ts'
import { notFound, Problem } from '../../http/problem.ts'
import { limits } from '../../http/rate-limits.ts'
import { idOf, toSignIn } from '../../http/request-values.ts'
import { signOut } from '../../http/session.ts'
import { signedIn } from '../../http/viewer.ts'
import type { Person } from '../../kinds/person.ts'
import { EMPTY_FORM, type FormState } from '../../ui/form-parts.tsx'
import { addressForm, deleteForm, passwordForm, profileForm, TAKEN } from './forms.ts'
import { SettingsPage, type Part } from './settings-page.tsx'

/** Parts whose form redirects to the settings. */
const SAVED: readonly Part[] = ['profile', 'address', 'password', 'sessions']
const WRONG = { password: 'This is not your password.' }

export async function settingsRoutes(app: FastifyInstance): Promise<void> {
  const config = { rateLimit: limits.settings }

  app.get('/settings', async (request, reply) => {
    if (request.viewer === undefined) return toSignIn(reply, '/settings')
    return sendPage(request, reply, {})
  })

  app.post('/settings/profile', { config }, async (request, reply) => {
    const viewer = signedIn(request)
    const { values, errors } = checkForm(profileForm, request.fields)
    if (errors !== undefined) return refuse(request, reply, 'profile', errors)
    await changeProfile(request.site.data, viewer.id, values)
    return toSettings(reply, 'profile')
  })

  app.post('/settings/address', { config }, async (request, reply) => {
    const viewer = await proving(request)
    const { values, errors } = checkForm(addressForm, request.fields)
    if (errors !== undefined) return refuse(request, reply, 'address', errors)
    const result = await changeAddress(request.site.data, viewer.id, values)
    if (result === 'changed') return toSettings(reply, 'address')
    return refuse(request, reply, 'address', result === 'taken' ? { address: TAKEN.address } : WRONG)
  })

  app.post('/settings/password', { config }, async (request, reply) => {
    const viewer = await proving(request)
    const { values, errors } = checkForm(passwordForm, request.fields)
    if (errors !== undefined) return refuse(request, reply, 'password', errors)
    const { site, now, openSession } = request
    const passwords = { current: values.password, next: values.next }
    const keep = { now, keepSession: openSession?.session.id }
    if (!(await changePassword(site.data, viewer.id, passwords, keep)))
      return refuse(request, reply, 'password', WRONG)
    return toSettings(reply, 'password')
  })

  app.post('/settings/sessions/:id/end', { config }, async (request, reply) => {
    const viewer = signedIn(request)
    const ended = await endSessionOf(request.site.data, viewer.id, idOf(request, 'session of yours'))
    if (!ended) throw notFound('session of yours')
    return toSettings(reply, 'sessions')
  })

  app.post('/settings/delete', { config }, async (request, reply) => {
    const viewer = await proving(request)
    const { password } = checkForm(deleteForm, request.fields).values ?? {}
    if (!(await deleteMember(request.site.data, viewer.id, password ?? '')))
      return refuse(request, reply, 'delete', WRONG)
    await signOut(request, reply)
    return reply.redirect('/', 303)
  })
}

/** Returns the sender of a form that needs the password, and counts the attempt. Sample people have none. */
async function proving(request: FastifyRequest): Promise<Person> {
  const viewer = signedIn(request)
  if (viewer.sample === true)
    throw new Problem(
      403,
      'A sample person has no account',
      'Sample people stay, so that every visitor can look around as one of them.',
    )
  const refusal = await request.countProof()
  if (refusal !== undefined) throw refusal
  return viewer
}

function toSettings(reply: FastifyReply, part: Part): FastifyReply {
  return reply.redirect(`/settings?done=${part}#${part}`, 303)
}

function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  part: Part,
  errors: FormState['errors'],
): Promise<FastifyReply> {
  void reply.code(422)
  return sendPage(request, reply, { [part]: { values: request.fields, errors } })
}

async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  sent: Partial<Record<Part, FormState>>,
): Promise<FastifyReply> {
  const { openSession, query } = request
  const { data } = request.site
  const viewer = signedIn(request)
  const [sessions, address = ''] = await Promise.all([
    sessionsOf(data, viewer.id),
    viewer.sample === true ? undefined : addressOf(data, viewer.id),
  ])
  const { full_name, bio } = viewer
  const forms: Record<Part, FormState> = {
    profile: { values: { full_name, bio }, errors: {} },
    address: { values: { address }, errors: {} },
    password: EMPTY_FORM,
    sessions: EMPTY_FORM,
    delete: EMPTY_FORM,
    ...sent,
  }
  const { done } = query as { done?: unknown }
  return reply.page(
    (ctx) => (
      <SettingsPage
        ctx={ctx}
        viewer={viewer}
        done={SAVED.find((part) => part === done)}
        forms={forms}
        sessions={sessions}
        currentSession={openSession?.session.id}
      />
    ),
    reply.statusCode,
  )
}
