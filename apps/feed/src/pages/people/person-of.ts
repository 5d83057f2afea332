import type { FastifyRequest } from 'fastify'
import { personByName } from '../../domain/accounts/people.ts'
import { notFound } from '../../http/problem.ts'
import { nameOf } from '../../http/request-values.ts'
import type { Person } from '../../kinds/person.ts'

/** Reads the person of an address. Throws the 404 if there is none. */
export async function personOf(request: FastifyRequest): Promise<Person> {
  const person = await personByName(request.site.data, nameOf(request))
  if (person === undefined) throw notFound('person of this name')
  return person
}
