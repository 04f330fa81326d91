import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import {
  replies,
  textReply,
  toolReply,
} from "../../../src/loopback/messages_provider.ts";
import { ClaudeLab, lastUserText, run, toolNames } from "./support.ts";

Deno.test("claude skills: an installed skill works, no other is offered, and slash text stays text", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "Skill",
        input: { skill: "planted" },
      }),
      textReply("msg_2", "used"),
      textReply("msg_3", "cleared?"),
      textReply("msg_4", "no"),
    ),
  });
  const skill = join(lab.root, "state", "skills", "planted");
  await Deno.mkdir(skill, { recursive: true });
  await Deno.writeTextFile(
    join(skill, "SKILL.md"),
    "---\nname: planted\ndescription: canary-description\n---\ncanary-body\n",
  );
  const executor = await lab.prepare(lab.local({
    environment: {
      kind: "local",
      workspaceRoot: lab.workspace,
      toolEnvironment: {},
      skillDirectories: [skill],
    },
  }));
  await run(executor, "use the skill");
  const [first, second] = lab.provider.requests;
  assert(toolNames(first).includes("Skill"));
  const skills = /skills are available[^<]*/.exec(first?.text ?? "")?.[0] ?? "";
  assertEquals(skills.match(/\\n- [^:]+:/g)?.length, 1, skills);
  assert(skills.includes("canary-description"));
  assert(lastUserText(second).includes("canary-body"));
  for (const [index, line] of ["/clear", "/planted:planted now"].entries()) {
    await run(executor, line);
    const request = lab.provider.requests[index + 2];
    assert(lastUserText(request).includes(JSON.stringify(line)), line);
    assert(request?.text.includes("use the skill"));
  }
});
