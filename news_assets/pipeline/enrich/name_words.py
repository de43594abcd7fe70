"""The words by which names of people, bodies and places are told apart, in Portuguese and
English, folded (`text.words.fold`) and in lower case.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _names(text: str) -> frozenset[str]:
    return frozenset(" ".join(name.split()) for name in text.split(","))


GIVEN_NAMES: Final = _words(
    """
    abel abigail adam adao ademir adriana adriano afonso agnes aida alan albert alberto
    alessandra alessandro alex alexander alexandra alexandre alexia alfredo alice aline
    alison allan aloizio aloysio altair alvaro amanda amelia amy ana anabela anderson
    andre andrea andreia andressa andrew angela anielle anita ann anna anne anthony
    antonia antonio ariel armando arnaldo arthur artur ashley augusto barack barbara
    beatriz ben benedita benedito benjamin bento bernardo beth betty bia bianca bill bob
    boris brad brandon brenda brian bruce bruna bruno caetano caio camila camilo carla
    carlo carlos carmen carol carolina caroline catarina catherine cecilia celia celso
    cesar charles charlotte chelsea chico chris christian christina christine
    christopher ciro claire clara claudia claudio cleber colin cristiane cristiano
    cristina cynthia daniel daniela daniele danilo darcy davi david debora deborah denis
    denise dennis diana diane diego dilma diogo donald donna douglas duarte edgar edinho
    edison edmundo edson eduarda eduardo edward elaine elena eleonora eliana eliane
    elias elisa elizabeth ellen eloisa elon elza emanuel emerson emily emma emmanuel
    eric erica erick erika ernesto esther eugenia eva evandro eve fabiana fabiano fabio
    fatima felipe felix fernanda fernando filipa filipe flavia flavio francisca
    francisco frank fred frederico gabriel gabriela gareth gary geoffrey george geraldo
    gerson gilberto gilmar giovanna giovanni gisele gleisi gloria gonzalo graca grace
    graham greg guilherme gustavo hannah harold harry heitor helen helena helio heloisa
    henrique henry hilda hillary hugo humberto iago ian ines ingrid iris isaac isabel
    isabela isadora ivan ivana ivete ivone jack jackson jacob jacqueline jaime jair jake
    james jamil jane janet janio janja jaques jason jean jeff jefferson jeffrey jennifer
    jeremy jessica jim joana joao joaquim jobson joe joel john johnny jonas jonathan
    jorge jose joseph josh joshua josue joyce juan judith julia juliana juliano julie
    julio justin karen karina kate katherine keir keith kelly ken kenneth kevin kim kyle
    lais lara larissa laura laurence lea leandro leila leo leonardo leonor leticia lewis
    lidia lilian liliana linda lisa livia liz lorena louis louise lourdes luan luana
    lucas lucia luciana luciano lucio lucy luis luisa luiz luiza luke lula lygia magda
    maicon manoel manuel manuela mara marc marcela marcelo marcia marcio marco marcos
    marcus margaret margareth maria mariana marilene marilia marina mario marisa mark
    marlene marta martha martin mary mateus matheus matilde matt matthew mauricio mauro
    max maya megan melissa mia michael michel michele michelle miguel mike milton miriam
    moacir moises monica murilo nadia nancy natalia natasha neil nelson neusa newton
    nicholas nick nicola nicolas nicole nilson nilton nisia noah nuno octavio olga
    olivia orlando oscar osvaldo otavio otto pablo pamela patricia patrick paul paula
    paulo pedro penelope peter philip pietra priscila rachel rafael rafaela raimundo
    ralph ramon raquel raul ray rebeca rebecca regina reginaldo renan renata renato
    ricardo richard rick rishi rita robert roberta roberto robin rodolfo rodrigo roger
    rogerio roland romario romeu ronald ronaldo rosa rosana rosane rosangela rose
    roseana rosemary ross ruben rui ruth ryan sabrina sally salvador sam samanta
    samantha samuel sandra sandro sara sarah scott sean sebastian sebastiao sergio
    severino sharon sheila sidney silas silvana silvia silvio simon simone sofia sonia
    sophia sophie stella stephanie stephen steve steven stuart sue suely susan susana
    suzana sylvia tabata tadeu taina tamara tania tarcisio tatiana telma teresa tereza
    thais theo theresa thiago thomas tiago tim tom tomas tony tracy ursula vagner valdir
    valeria valter vanda vanderlei vanessa vera veronica vicente victor victoria vilma
    vinicius virginia vitor vitoria vivian viviane vladimir volodymyr wagner walace
    waldir wallace walter wanda wanderley washington wellington wesley will william
    wilson yasmin yuri yvonne zeca zelia zilda
    """
)
TITLES: Final = _words(
    """
    advogada advogado ambassador atacante ator atriz attorney bishop bispo cantor
    cantora capitao captain cardeal cardinal chanceler chancellor chief coach colonel
    congressman congresswoman coordenador coordenadora coronel councillor councilman
    councilmember councilwoman delegada delegado deputada deputado desembargador
    desembargadora detective director diretor diretora dom doutor doutora dr dra
    economista embaixador embaixadora father general governador governadora governor
    jornalista judge juiz juiza justice king lady lord major mayor medica medico
    minister ministra ministro miss mr mrs ms officer padre papa pesquisador
    pesquisadora pope prefeita prefeito president presidenta presidente prince princess
    procurador procuradora professor professora queen reitor reitora representative
    sargento secretaria secretario secretary senador senadora senator sergeant sir
    spokesman spokesperson spokeswoman sr sra superintendente tecnico tenente treinador
    vereador vereadora vice
    """
)
# the first word of a Portuguese body
BODIES: Final = _words(
    """
    academia agencia arquivo assembleia associacao autarquia banco batalhao biblioteca
    bolsa brigada caixa camara centro clube colegio comando comissao comite companhia
    confederacao congresso conselho consorcio controladoria cooperativa coordenacao
    corpo corregedoria defensoria delegacia departamento diretoria empresa escola
    estaleiro exercito faculdade federacao forca forum frente fundacao fundo gabinete
    grupo guarda hospital igreja imprensa instituto juizado justica laboratorio liga
    maternidade ministerio museu nucleo observatorio organizacao orquestra ouvidoria
    parlamento partido policia prefeitura presidencia procuradoria promotoria receita
    rede secretaria senado servico sindicato sociedade superintendencia supremo tribunal
    uniao unidade universidade vara
    """
)
# one of the last words of an English body
ENGLISH_BODIES: Final = _words(
    """
    academy administration agency airlines army assembly association authority bank
    board bureau cabinet center centre church club college commission committee company
    congress corporation corps council court department federation force forum
    foundation fund group hospital house inc institute institution league library ltd
    ministry museum network office organisation organization parliament parliamentary
    party police registry rights school senate service services society trust union
    university watch
    """
)
# the first word of a place
PLACE_WORDS: Final = _words(
    """
    aeroporto avenida baia bairro cidade distrito estado estrada ilha jardim lagoa lake
    largo mount municipio parque ponte porto praca praia rodovia rua serra terminal vale
    viaduto vila
    """
)
# the last word of an English place
ENGLISH_PLACE_ENDS: Final = _words(
    """
    airport avenue bay beach bridge county forest island islands lake mountain mountains
    park river road square street valley
    """
)
# places by their names alone; not those that name other things more often
PLACES: Final = _names(
    """
    acre, africa, africa do sul, alagoas, alemanha, algeria, amapa, amazonas, amazonia,
    america do sul, america latina, angola, arabia saudita, aracaju, argelia, argentina,
    armenia, asia, assuncao, australia, austria, azerbaijao, bagda, baghdad, bahia,
    bangladesh, barcelona, beijing, belem, belgica, belgium, belo horizonte, berlim,
    berlin, boa vista, bogota, bolivia, boston, brasil, brasilia, brazil, brussels,
    bruxelas, buenos aires, bulgaria, cabo verde, cairo, california, camaroes, campinas,
    campo grande, canada, caracas, catar, cazaquistao, ceara, chicago, chile, china,
    colombia, coreia do norte, coreia do sul, costa do marfim, costa rica, croacia,
    croatia, cuba, cuiaba, curitiba, denmark, dinamarca, distrito federal, doha, dubai,
    ecuador, egito, egypt, el salvador, emirados arabes unidos, england, equador,
    escocia, eslovaquia, eslovenia, espanha, espirito santo, estados unidos, estonia,
    ethiopia, etiopia, europa, europe, faixa de gaza, filipinas, finland, finlandia,
    florianopolis, florida, fortaleza, franca, france, gana, gaza, georgia, germany,
    ghana, goiania, goias, grecia, greece, guarulhos, guatemala, guiana, guine-bissau,
    haiti, havana, holanda, honduras, hong kong, hungary, hungria, iceland, iemen,
    india, indonesia, inglaterra, iran, iraq, iraque, ireland, irlanda, islandia,
    israel, italia, italy, jamaica, japan, japao, jerusalem, joao pessoa, jordania,
    kenya, kiev, kosovo, kuwait, kyiv, la paz, latin america, lebanon, letonia, libano,
    libia, libya, lisboa, lisbon, lituania, london, londres, los angeles, macapa,
    maceio, madri, madrid, malasia, malaysia, manaus, maranhao, marrocos, mato grosso,
    mato grosso do sul, melbourne, mexico, miami, mianmar, minas gerais, mocambique,
    montevideu, morocco, moscou, moscow, mozambique, mumbai, myanmar, namibia, nepal,
    netherlands, new delhi, new york, new zealand, nicaragua, nigeria, niteroi, north
    korea, noruega, norway, nova delhi, nova york, nova zelandia, osasco, pakistan,
    palestina, palestine, palmas, panama, paquistao, paraguai, paraguay, paraiba,
    parana, paris, pequim, pernambuco, peru, philippines, piaui, poland, polonia, porto
    alegre, porto velho, portugal, qatar, quenia, quito, recife, reino unido, republica
    dominicana, republica tcheca, ribeirao preto, rio branco, rio de janeiro, rio grande
    do norte, rio grande do sul, roma, romania, rome, romenia, rondonia, roraima,
    russia, san francisco, santa catarina, santiago, sao bernardo do campo, sao luis,
    sao paulo, saudi arabia, scotland, seattle, senegal, serbia, sergipe, servia,
    shanghai, siria, somalia, sorocaba, south africa, south america, south korea, spain,
    sudan, sudao, suecia, suica, sweden, switzerland, sydney, syria, tailandia, taiwan,
    tanzania, teera, tehran, teresina, texas, thailand, timor-leste, tocantins, tokyo,
    toquio, toronto, tunisia, turquia, uberlandia, ucrania, uganda, ukraine, united
    kingdom, united states, uruguai, uruguay, venezuela, viena, vienna, vietna, vietnam,
    washington, xangai, yemen, zambia, zimbabue, zimbabwe
    """
)
# that join the words of one name
CONNECTORS: Final = ("da", "das", "de", "del", "di", "do", "dos", "for", "of", "the")
# what a person does who is quoted
SPEECH: Final = _words(
    """
    afirma afirmou avalia avaliou comenta comentou conta contou declara declarou defende
    defendeu destaca destacou disse diz explica explicou fala falou informou lembra
    lembrou ressalta ressaltou said says told
    """
)
