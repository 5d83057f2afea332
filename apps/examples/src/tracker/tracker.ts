import type { ChangesOf, DataStore, EntityId, ItemOf, Reference } from 'looseleaf'
import { Comment, Issue, Person, Project, Tenant } from './kinds.ts'

type IssueItem = ItemOf<typeof Issue>
type Status = IssueItem['status']

/** An issue tracker for many tenants: the calls to the store of its pages and forms. */
export function createTracker(store: DataStore) {
  const tenants = Tenant.in(store)
  const people = Person.in(store)
  const projects = Project.in(store)
  const issues = Issue.in(store)
  const comments = Comment.in(store)

  return {
    tenants,
    people,
    projects,
    issues,
    comments,

    /** Returns the project at an address such as `acme/website`; undefined if there is none. */
    async projectAt(tenantSlug: string, projectSlug: string) {
      const tenant = await tenants.bySlug.first({ slug: tenantSlug })
      return tenant && projects.bySlug.first({ tenant: tenant.id, slug: projectSlug })
    },

    /** Returns the person with this e-mail address in any case; undefined if there is none. */
    personOf: (tenant: EntityId, email: string) => people.byEmail.first({ tenant, email }),

    /** Returns all projects of a tenant with the number of issues that are not done. */
    async board(tenant: EntityId) {
      const all = await projects.bySlug.all({ tenant })
      const open = await issues.byProject.countMany(
        all.map(({ id }) => ({ project: id, status: { in: ['open', 'started'] } })),
      )
      return all.map((project, i) => ({ project, open: open[i] }))
    },

    /** Returns a page of issues in these states, soonest due first. Its `cursor` and `previous` lead to the next and previous page. */
    issuesOf: (project: EntityId, states: readonly Status[], cursor?: string) =>
      issues.byProject.page({ project, status: { in: states } }, { limit: 20, cursor }),

    /** Returns the issues of an assignee that are due before `until`. Null stands for issues without an assignee. */
    dueOf: (assignee: EntityId | null, until: Date) =>
      issues.byAssignee.all({ assignee, due: { lt: until } }),

    labelled: (project: EntityId, label: string) => issues.byLabel.all({ project, labels: label }),
    writtenBy: (person: EntityId) => issues.byAuthor.all({ 'author.id': person }),
    titled: (project: EntityId, beginning: string) =>
      issues.byTitle.all({ project, title: { startsWith: beginning } }),

    /** Adds the newest three comments and their number to each issue. */
    async withComments(page: readonly IssueItem[]) {
      const found = await comments.byIssue.pageMany(
        page.map(({ id }) => ({ issue: id })),
        { limit: 3, order: 'desc', count: true },
      )
      return page.map((issue, i) => ({ issue, comments: found[i]?.items ?? [], count: found[i]?.count ?? 0 }))
    },

    /** Saves a form. Rejects with `VERSION_MISMATCH` if the issue has changed since the form was read. */
    save: (form: Reference, changes: ChangesOf<typeof Issue>) => issues.update(form, changes),

    renameLabel: (project: EntityId, from: string, to: string) =>
      issues.byLabel.updateWhere({ project, labels: from }, ({ labels }) => ({
        labels: [...new Set(labels.map((label) => (label === from ? to : label)))],
      })),

    /** Deletes a project with its issues and their comments. If it fails midway, call it again. */
    async deleteProject(project: EntityId) {
      for await (const { id } of issues.byProject.each({ project }))
        await comments.byIssue.deleteWhere({ issue: id })
      await issues.byProject.deleteWhere({ project })
      return projects.delete(project)
    },
  }
}
